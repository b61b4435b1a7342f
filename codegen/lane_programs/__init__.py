"""Lane programs as numpy and as CUDA; the graphs are stated in `tylo.proofs.lane_programs`."""
