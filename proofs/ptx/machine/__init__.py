"""A machine that runs PTX without a GPU."""
