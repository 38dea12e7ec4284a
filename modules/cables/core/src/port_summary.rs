//! Record of a port's classifier.

use detect::Mac;

use crate::frame_class::FrameClass;

/// Frames of one sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassSummary {
    /// Number of frames.
    pub frames: u32,
    /// Time of the last one, in milliseconds of the decision's clock.
    pub last: u64,
    /// Sender of the last frame.
    pub from: Mac,
    /// The VLAN of the last; `None`: without a tag.
    pub vlan: Option<u16>,
}

/// A port since its link came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortSummary {
    /// Summaries by class, in the order of [`FrameClass::ALL`].
    pub sorts: [ClassSummary; FrameClass::ALL.len()],
    /// Stations that sent anything: 16 at most, without own addresses.
    pub stations: Vec<Mac>,
    /// There were more.
    pub more_stations: bool,
    /// Numbers of VLANs, 8 at most.
    pub vlans: Vec<u16>,
    /// The last frame of LLDP, of CDP, of MNDP, of a hello, from the Ethernet header on: at most
    /// 320 bytes. Empty: no frame.
    pub lldp: Vec<u8>,
    /// CDP.
    pub cdp: Vec<u8>,
    /// MNDP.
    pub mndp: Vec<u8>,
    /// A hello.
    pub hello: Vec<u8>,
}

impl PortSummary {
    /// Returns the summary of a class of frames.
    pub fn of(&self, sort: FrameClass) -> &ClassSummary {
        &self.sorts[sort as usize]
    }
}
