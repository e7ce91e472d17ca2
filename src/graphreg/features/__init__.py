"""Graph signal processing on point clouds, and local features (Sec. III-A to III-D).

In the order in which data flows:

graphs
    The k-nearest-neighbour graph: weights W (Eq. 1), shift A, Laplacian, filters h(A) (Eq. 2).
response
    The response intensity I (Definition 1, Theorem 1), outlier removal by the X84 rule, resampling.
invariant_features
    Normals, curvature and the graph variation V_g (Eq. 5 and 6, Theorem 2).
filtered_invariants
    The invariants after low-pass filters, comparable between two clouds.
edge_descriptors
    Distributions of graph signals over the edges around a point.
fpfh_features
    Fast point feature histograms, for the baselines that match features.
"""
