//! Flows and the paths of their packets.

pub mod expression;
pub mod filter;
mod flow;
mod tables;

pub use expression::{ExpressionError, FlowQuery};
pub use filter::{AddressFilter, FlowFilter, Selection, Sort};
pub use flow::{
    Direction, Directions, Endpoints, Explanation, Flow, FlowId, FlowList, FlowState, Hook,
    Protocol, Reason, StationPair, Translation, TtlRange, Witness, WitnessName,
};
pub use tables::{Hop, Port, PortLimit, PortStack, PortUse, Traffic};
