//! Who uses the network: from the records of the packet path to flows, devices and names. Pure: no clock, no socket, no BPF.

pub mod count;
