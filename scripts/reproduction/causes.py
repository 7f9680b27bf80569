"""Why our results differ from the paper's, where they do."""

from __future__ import annotations

from mlfs_gym.report.compare.summary import percent
from reproduction.figures import Figures
from reproduction.published import WITH_MLF_C


def causes(figures: Figures) -> dict[str, str]:
    """Texts by key, in the order of their numbers on the page."""
    f, load = figures, figures.load
    jct, waiting = "average_jct_s", "average_waiting_s"
    exclusive = "exclusive"
    return {
        "light load": (
            "**Below 1240 jobs the order hardly matters.** The average JCT is made by long jobs: "
            f"{100 * load[620].long_share:.0f}% of the run time is in jobs of more than 19 h. 620 jobs offer a load of "
            f"{load[620].offered:.2f} to the GPUs, nobody waits ({f.span(f.rivals, waiting, 620)} on average, of which "
            "0.5 min is the time to the next round), and every rival takes "
            f"{f.span(f.rivals, jct, 620)}, where run times alone give {load[620].mean_run_time_min:.1f} min. With "
            "shared GPUs much the same holds at 1240 jobs, FIFO and SJF apart. In the paper rivals differ at every "
            "load: jobs must have queued there even when few."
        ),
        "preemption": (
            "**MLF-H does not preempt.** What waits, waits until something ends; rivals that preempt once a quantum, "
            "at the price of a restart, serve short jobs at once. Shared GPUs make up for it up to 1240 jobs. With "
            f"exclusive GPUs MLF-H has {f('mlf_h', jct, 1240, exclusive)} at 1240 jobs, SRSF "
            f"{f('srsf', jct, 1240, exclusive)} and Graphene {f('graphene', jct, 1240, exclusive)}; at 1860 jobs even "
            f"sharing leaves it with {f('mlf_h', jct, 1860, 'shared')} against {f('srsf', jct, 1860, 'shared')}. How "
            "the paper's rivals preempt is not known."
        ),
        "sharing": (
            "**Whether GPUs are shared decides more than the scheduler.** As published, MLF-H shares them and Tiresias "
            f"and SLAQ do not: {f('tiresias', jct, 1860, exclusive)} and {f('slaq', jct, 1860, exclusive)} at 1860 "
            f"jobs, and {f('tiresias', jct, 1860, 'shared')} and {f('slaq', jct, 1860, 'shared')} with shared GPUs. A "
            "part of what the paper reports for its order of tasks may be this."
        ),
        "elastic": (
            "**Fair and SLAQ are elastic here.** Max-min shares and SLAQ's allocation grant replica by replica, so a "
            "job runs with the replicas that its share allows instead of waiting for all of them. With run times this "
            "heavy-tailed such sharing of the processor beats queues: even least attained service without Tiresias's "
            f"discretised queues has {f('las', jct, 1240, exclusive)} at 1240 jobs with exclusive GPUs, Tiresias "
            f"{f('tiresias', jct, 1240, exclusive)}, Fair {f('fair', jct, 1240, exclusive)}. Fewer replicas also "
            "exchange fewer gradients: at 1860 jobs with exclusive GPUs Fair sends "
            f"{f('fair', 'bandwidth_tb', 1860, exclusive)}, Tiresias {f('tiresias', 'bandwidth_tb', 1860, exclusive)}. "
            "If the paper's fair share is one of whole jobs, that explains its last places."
        ),
        "quantum": (
            "**Gandiva and Graphene tie.** Both share GPUs, and Graphene, whose paper counts on tasks that end within "
            "minutes, is given a quantum after which trainings yield: "
            f"{f('graphene', jct, 1240, 'shared')} and {f('gandiva', jct, 1240, 'shared')} at 1240 jobs."
        ),
        "gandiva": (
            "**Gandiva needs GPUs that can be shared.** Its time slices and packing are what it is; without them, with "
            f"exclusive GPUs, it is first come, first served with backfilling: {f('gandiva', jct, 1240, exclusive)} at "
            f"1240 jobs, {f('gandiva', jct, 1240, 'shared')} with shared GPUs."
        ),
        "mlf_c": (
            "**Load control acts only under overload.** It ends jobs early while jobs wait or servers are overloaded. "
            "With a lighter load there is less of that, and jobs whose owner permits no downgrade run on: the saving "
            "grows with load and is largest where MLF-H alone queues."
        ),
        "makespan": (
            "**The last job ends when it ends.** Arrivals spread over a week and the longest job runs for days: if "
            f"every job started as it arrives, the makespan at 1860 jobs would be {load[1860].makespan_h:.0f} h. "
            f"Tiresias has {f('tiresias', 'makespan_s', 1860)}. Only whoever ends jobs early, as MLF-C does, gets "
            "below that; a third or a half is out of reach."
        ),
        "slack": (
            "**There is little left to gain on deadlines.** Deadlines are as published, arrival + max(1.1 t_e, t_r) "
            "with t_r between 0.5 and 24 h, and run times are Philly's, half of them below "
            f"{load[1860].median_run_time_min:.0f} min: the median job could start {load[1860].slack_h:.1f} h late. "
            f"Whoever keeps waits to minutes meets nearly all of them: at 1860 jobs HyperSched "
            f"{f('hypersched', 'deadline_ratio', 1860)}, SLAQ {f('slaq', 'deadline_ratio', 1860)}, MLF-H + MLF-C "
            f"{f(WITH_MLF_C, 'deadline_ratio', 1860)}. The same holds for urgent jobs and for required accuracies, "
            "which nearly every job that ends before its deadline has reached. An improvement of 47% or 102% needs "
            "rivals that miss a third or a half. Where deadlines are missed, with exclusive GPUs at 1860 jobs, urgency "
            f"gains {percent(f.effect('mlf_h', 'mlf_h-urgency', 'urgent_deadline_ratio', 1860, exclusive))} of the "
            "urgent ones."
        ),
        "ceiling": (
            "**Accuracy has a ceiling, and MLF-C buys time with it.** The accuracy by the deadline of a job that ends "
            "in time is what its model reaches, and nearly all end in time; the mean over the five model families is "
            f"about 75%: {f('hypersched', 'average_accuracy', 1860)} with HyperSched, "
            f"{f('fair', 'average_accuracy', 1860)} with Fair. MLF-C stops jobs at the accuracy that they require or "
            "no longer improve on, which costs a point of average accuracy "
            f"({f(WITH_MLF_C, 'average_accuracy', 1860)}) and no guarantee. An improvement of 43% to 64% is not "
            "possible from there; the paper's rivals must have been cut off in the middle of their training."
        ),
        "traffic": (
            "**MLF-H keeps traffic low where it has a choice of servers.** At 620 jobs with shared GPUs it sends "
            f"{f('mlf_h', 'bandwidth_tb', 620, 'shared')}, Fair {f('fair', 'bandwidth_tb', 620, 'shared')}. The "
            "bandwidth term is behind it: "
            f"{percent(f.effect('mlf_h', 'mlf_h-bandwidth', 'bandwidth_tb', 620, 'shared'))} there, "
            f"{percent(f.effect('mlf_h', 'mlf_h-bandwidth', 'bandwidth_tb', 1860, 'shared'))} at 1860 jobs, more than "
            "published. When every GPU is taken, replicas go where there is room, and rivals that train with fewer "
            "replicas at a time send less. Traffic costs less JCT here because an iteration waits for the slowest "
            "exchange only, at 10 Gbit/s a server."
        ),
        "deadline term": (
            "**The deadline term is small in hours.** With the printed weights, 0.3 / (d - t) for the deadline, 0.3 / "
            "r for the remaining run time and 0.35 w for waiting, a job ten hours before its deadline gets 0.03, one "
            "that has waited an hour 0.35: the term decides between jobs only within an hour of a deadline. The paper "
            "prints no units; in hours waiting stays bounded."
        ),
        "migration": (
            "**Migration has to earn its cost here.** A server sheds tasks only above full utilisation, tasks stay at "
            "least half an hour, and a move must gain more time than it costs. Moved at the published threshold, which "
            "is that of admission too, tasks wander without end. Most of what counts as an overload is fluctuating "
            "demand on shared GPUs, gone before a move pays. With few jobs migration lowers overloads; near saturation "
            "servers with room are missing, and what it moves fills others. With exclusive GPUs servers are next to "
            "never overloaded and there is nothing to move."
        ),
    }
