"""Our own method: global registration from any initial pose.

Modules, in the order in which data flow through them:

settings         EngineSettings: what a caller can choose
preprocessing    PreprocessedCloud: sampled points in a local frame
engine_run       EngineRun: the arguments of a registration
voxel_sizes      coarse and fine voxel sizes that suit both clouds
surfels          voxel moments, and one surfel a voxel: point, normal, roughness
cleaning         outlier removal by the X84 rule on the graph response
clutter_removal  outliers that fill the volume
orientation      signs of normals, from an inferred viewpoint
descriptors      distributions of graph signals around each coarse surfel; nearest neighbours among them
pyramid          SurfelPyramid: coarse and fine surfels with descriptors
free_space       what a scan saw through, where the other cannot have a surface
evidence         what both clouds say for a pose and against it; the score that ranks poses
pose_sets        which poses of a set are different
hypotheses       poses supported by compatible correspondences, refined and ranked by the evidence
refinement       fine refinement: symmetric point-to-plane on all points
robust_refinement  the same with a robust loss
mesh_refinement  refinement on the triangles of a mesh
observability    covariance and degenerate directions
ambiguity        poses that fit equally well, compared by details
verdict          success, confidence and reason
outcome          EngineOutcome: what the method returns
pipeline         register_graphreg: all stages on one page, and the retries

A source of unknown scale:

scale_votes            scales that pairs of correspondences vote for
scale_hypotheses       these ranked by what they explain beside what chance would
similarity_refinement  symmetric point-to-plane with seven unknowns
scale_observability    covariance with the scale; whether it is determined
similarity             register_any_scale: the method that `register` calls; all stages on one page

A small part in a large scene:

scene_index       surfels and descriptors of a scene, indexed for parts of one size
unsigned_normals  scores and refinement without signs of normals
symmetry          poses of a part onto itself
part_search       votes for places, poses at each place
part_candidates   instances, one pose a place
part_pipeline     locate_part: all stages on one page
unequal_sizes     register_or_locate: a much smaller cloud is located in the other
"""
