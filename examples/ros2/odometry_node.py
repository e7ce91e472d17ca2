"""A ROS 2 node: LiDAR odometry on a topic of point clouds.

Subscribes to `points` (sensor_msgs/PointCloud2), publishes `odometry` (nav_msgs/Odometry) and the transform from
`odom` to the frame of the sensor. A frame that cannot be registered is reported and not published. Where the points
have times, as those of most LiDAR drivers, the frame is deskewed, and its pose is that at the middle of these times.

    python3 odometry_node.py --ros-args -r points:=/velodyne_points
"""

from __future__ import annotations

from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry as OdometryMessage
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import PointCloud2
from sensor_msgs_py.point_cloud2 import read_points
from tf2_ros import TransformBroadcaster

import graphreg

# Fields that drivers write the time of each point to.
TIME_FIELDS = ("t", "time", "timestamp", "offset_time")


class OdometryNode(Node):  # type: ignore[misc, unused-ignore]
    """Publishes the pose of the sensor at each cloud that it receives."""

    def __init__(self) -> None:
        super().__init__("graphreg_odometry")
        self.odom_frame: str = self.declare_parameter("odom_frame", "odom").value
        self.odometry = graphreg.Odometry()
        self.publisher = self.create_publisher(OdometryMessage, "odometry", 10)
        self.broadcaster = TransformBroadcaster(self)
        self.create_subscription(PointCloud2, "points", self.receive, qos_profile_sensor_data)

    def receive(self, message: Any) -> None:
        """Estimate the pose at a cloud, and publish it."""
        names = [field.name for field in message.fields]
        time_field = next((name for name in TIME_FIELDS if name in names), None)
        cloud = read_points(message, ["x", "y", "z", *filter(None, [time_field])], skip_nans=True)
        points = np.stack([cloud[axis] for axis in "xyz"], axis=1).astype(np.float64)
        step = self.odometry.add(points, cloud[time_field] if time_field and len(cloud) else None)
        if not step.success:
            self.get_logger().warning(step.reason)
            return
        x, y, z = map(float, step.pose[:3, 3])
        qx, qy, qz, qw = map(float, Rotation.from_matrix(step.pose[:3, :3]).as_quat())
        moved = TransformStamped()
        moved.header.stamp = message.header.stamp
        moved.header.frame_id = self.odom_frame
        moved.child_frame_id = message.header.frame_id
        moved.transform.translation.x, moved.transform.translation.y, moved.transform.translation.z = x, y, z
        rotation = moved.transform.rotation
        rotation.x, rotation.y, rotation.z, rotation.w = qx, qy, qz, qw
        self.broadcaster.sendTransform(moved)
        reported = OdometryMessage()
        reported.header, reported.child_frame_id = moved.header, moved.child_frame_id
        position = reported.pose.pose.position
        position.x, position.y, position.z = x, y, z
        reported.pose.pose.orientation = rotation
        self.publisher.publish(reported)


def main() -> None:
    rclpy.init()
    node = OdometryNode()
    try:
        rclpy.spin(node)
    finally:
        node.destroy_node()
        rclpy.shutdown()


if __name__ == "__main__":
    main()
