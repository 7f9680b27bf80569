"""Learning: policy network, demonstrations, behaviour cloning, PPO, evaluation. Everything here may import PyTorch."""
