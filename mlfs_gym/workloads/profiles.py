"""The five model families of the paper: sizes, demands, partition graphs, learning curves.

Which families, which graphs: MLFS, CoNEXT 2020, section 4.1. Where a constant is not published there, its
source stands beside it; "assumed" marks what no source gives. Demands are those of one task on the V100
server of `mlfs_gym.config.ClusterConfig`: four tasks leave room on it for sharing its GPUs, and two tasks of
any family fit the memory of one GPU. Median GPU utilisation in Philly is 48.6% (Jeon et al., USENIX ATC 2019),
so the ranges of GPU demand lie around one half.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Final, Literal

Graph = Literal["chain", "layers", "none"]


@dataclass(frozen=True)
class ModelProfile:
    """What the simulator knows of a model family.

    Attributes:
        name: of the family.
        parameters: of the whole model.
        graph: how partitions depend on each other. ``chain``: one after another; ``layers``: layers cut into
            two parallel parts; ``none``: the model is not partitioned, only replicated.
        parameter_tilt: how parameters lie along the partitions, from -1 (first) over 0 (evenly) to 1 (last).
        compute_tilt: the same for compute time.
        gpu_demand_milli: lowest and highest GPU demand of a task.
        cpu_demand_milli: of a task.
        memory_mib: host memory of a task, without training data.
        gpu_memory_mib: activations and workspace of the whole model, shared out to the partitions.
        loss_start: loss of the untrained model.
        loss_floor: loss that training approaches.
        accuracy_ceiling: accuracy that training approaches.
        curve_scale: lowest and highest scale of the learning curve, as a part of the maximum number of iterations.
        curve_power: exponent of the learning curve.
    """

    name: str
    parameters: int
    graph: Graph
    parameter_tilt: float
    compute_tilt: float
    gpu_demand_milli: tuple[int, int]
    cpu_demand_milli: int
    memory_mib: int
    gpu_memory_mib: int
    loss_start: float
    loss_floor: float
    accuracy_ceiling: float
    curve_scale: tuple[float, float]
    curve_power: float


# Scales and powers of all curves are assumed: half of the iterations bring about three quarters of the final
# accuracy, as on the curves that Domhan et al. (IJCAI 2015) show, and the last tenth still brings one percent.
_ALEXNET: Final = ModelProfile(
    name="AlexNet",
    parameters=61_100_840,  # Krizhevsky, Sutskever and Hinton, NeurIPS 2012 ("60 million"); torchvision's count
    graph="chain",
    parameter_tilt=0.8,  # same paper: the three last, fully connected layers hold 96% of the parameters ...
    compute_tilt=-0.5,  # ... and the convolutions before them do nine tenths of the work
    gpu_demand_milli=(450, 850),  # assumed, around Philly's median
    cpu_demand_milli=3500,  # assumed: decoding of images keeps three to four cores busy
    memory_mib=12_288,  # assumed
    gpu_memory_mib=4_096,  # assumed: mini-batch of a few hundred images
    loss_start=log(1000),  # cross-entropy of a uniform guess, 1000 classes
    loss_floor=1.6,  # assumed
    accuracy_ceiling=0.625,  # same paper, table 1: top-1 error 37.5% with one network's averaged patches (ILSVRC-2010)
    curve_scale=(0.15, 0.30),
    curve_power=1.2,
)
_RESNET: Final = ModelProfile(
    name="ResNet",
    parameters=25_557_032,  # ResNet-50: He et al., CVPR 2016; torchvision's count
    graph="layers",
    parameter_tilt=0.7,  # the last of the four stages holds 15 of the 25.6 million
    compute_tilt=0.0,  # same paper, table 1: stages of about equal work, by design
    gpu_demand_milli=(550, 900),  # assumed
    cpu_demand_milli=3000,  # assumed, as AlexNet with fewer images per second
    memory_mib=12_288,  # assumed
    gpu_memory_mib=5_632,  # assumed: mini-batch of 64 images
    loss_start=log(1000),
    loss_floor=0.9,  # assumed, a little below torchvision's validation loss
    accuracy_ceiling=0.77,  # torchvision's ResNet-50 reaches 76.1% top-1
    curve_scale=(0.15, 0.30),
    curve_power=1.2,
)
_MLP: Final = ModelProfile(
    name="MLP",
    parameters=12_110_000,  # Ciresan et al., Neural Computation 2010: 2500-2000-1500-1000-500-10
    graph="chain",
    parameter_tilt=-0.5,  # same source: the layers shrink
    compute_tilt=-0.5,  # work of a dense layer is proportional to its parameters
    gpu_demand_milli=(250, 500),  # assumed: small kernels
    cpu_demand_milli=1500,  # assumed
    memory_mib=6_144,  # assumed
    gpu_memory_mib=1_024,  # assumed
    loss_start=log(10),
    loss_floor=0.02,  # assumed
    accuracy_ceiling=0.9965,  # same source, MNIST: error 0.35%
    curve_scale=(0.10, 0.25),
    curve_power=1.5,
)
_LSTM: Final = ModelProfile(
    name="LSTM",
    parameters=19_775_200,  # Zaremba, Sutskever and Vinyals, arXiv 1409.2329: medium, 2 x 650 units, 10,000 words
    graph="layers",
    parameter_tilt=0.0,  # embedding at one end, softmax at the other, 6.5 million each
    compute_tilt=0.3,  # assumed: the softmax over all words is the dearest
    gpu_demand_milli=(350, 700),  # assumed: short sequential kernels
    cpu_demand_milli=2000,  # assumed
    memory_mib=8_192,  # assumed
    gpu_memory_mib=3_072,  # assumed
    loss_start=log(2),
    loss_floor=0.28,  # assumed
    accuracy_ceiling=0.865,  # Dai and Le, NeurIPS 2015: plain LSTM on IMDB, error 13.5%
    curve_scale=(0.15, 0.30),
    curve_power=1.2,
)
_SVM: Final = ModelProfile(
    name="SVM",
    parameters=7_850,  # ten linear classifiers of 784 pixels and a bias
    graph="none",
    parameter_tilt=0.0,
    compute_tilt=0.0,
    gpu_demand_milli=(250, 450),  # assumed: bound by memory and CPU
    cpu_demand_milli=2500,  # assumed
    memory_mib=6_144,  # assumed
    gpu_memory_mib=768,  # assumed
    loss_start=1.0,  # hinge loss of zero weights
    loss_floor=0.2,  # assumed
    accuracy_ceiling=0.924,  # LeCun et al., Proc. IEEE 1998: pairwise linear classifier on MNIST, error 7.6%
    curve_scale=(0.10, 0.25),
    curve_power=1.5,
)

FAMILIES: Final[tuple[ModelProfile, ...]] = (_ALEXNET, _RESNET, _MLP, _LSTM, _SVM)
"""In the order of ``jobs["model"]``."""

FAMILY_NAMES: Final[tuple[str, ...]] = tuple(profile.name for profile in FAMILIES)

BYTES_PER_PARAMETER: Final = 4  # single precision
# A checkpoint holds the weights and the two moments of Adam (Kingma and Ba, ICLR 2015).
CHECKPOINT_COPIES: Final = 3
# Training keeps weights, gradients and two moments on the GPU.
GPU_COPIES: Final = 4
GPU_CONTEXT_MIB: Final = 1_024  # assumed: CUDA context and libraries of one process
PARAMETER_SERVER_CPU_MILLI: Final = 2_000  # assumed
PARAMETER_SERVER_MEMORY_MIB: Final = 2_048  # assumed: the process without the parameters
