"""The method as published: registration by rigid-body dynamics and annealing (Sec. III-E to III-I).

In the order in which data flows:

forces
    Sums of pair forces between the particles of both clouds (Eq. 12 to 14).
dynamics
    From forces to one rigid step (Eq. 8 to 11).
annealing
    Metropolis acceptance and adaptive cooling (Algorithm 1).
published
    The registration, from two clouds to a transform (Algorithm 2), and its settings.
"""
