//! The hello of a mesh, byte by byte, and at simulated ports.

mod hello;
mod vxlan;
