"""What is there: jobs, tasks, servers and GPUs as arrays, and the decisions that change them."""
