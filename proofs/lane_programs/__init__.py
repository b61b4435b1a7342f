"""Lane programs: what one lane computes, stated once and read several ways.

A lane program is a small typed graph over the registers of a lane. It is stated here, beside the
specifications, so that what a kernel is claimed to compute can be made again without its generator;
`tylo.codegen.lane_programs` reads it on numpy arrays and prints it as CUDA, and the readings of
this package turn it into real-number algebra, integer terms and solver scripts.
"""
