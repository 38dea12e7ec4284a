//! The hello of a mesh, octet by octet, and at simulated ports.

mod hello;
mod vxlan;
