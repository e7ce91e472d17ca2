"""Our own method: global registration from any initial pose.

Modules, in the order in which data flow through them:

settings       EngineSettings: what a caller can choose
preprocessing  PreprocessedCloud: sampled points in a local frame
voxel_sizes    coarse and fine voxel sizes that suit both clouds
surfels        voxel moments, and one surfel a voxel: point, normal, roughness
cleaning       outlier removal by the X84 rule on the graph response
pyramid        SurfelPyramid: coarse and fine surfels with descriptors
descriptors    distributions of graph signals around each coarse surfel; mutual correspondences
hypotheses     poses supported by compatible correspondences, ranked by surface overlap
refinement     fine refinement: symmetric point-to-plane on all points
evidence       overlap, residual and inlier correspondences of a pose
observability  covariance and degenerate directions
verdict        success, confidence and reason
outcome        EngineOutcome: what the method returns
pipeline       register_graphreg: all stages on one page, and the retry on subsampled clouds
"""
