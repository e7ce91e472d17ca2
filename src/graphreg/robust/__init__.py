"""Robust estimation: losses that let outliers pull less than least squares does.

influence_functions  rho, psi and weight of every loss, in one table
robust_scales        the scale of residuals, by the MAD or an S-estimate
adaptive_shape       the shape of Barron's loss, estimated from residuals
losses               Loss: what a caller chooses; RobustWeights: the weights of one iteration after the other
"""
