"""How spread out the discontinuities of a stream of loss functions are: measured, and bounded."""
