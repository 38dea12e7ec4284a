//! The messages of `qaul.sys.ble`, with the fields that are used.

use prost::Message as _;

use crate::Id;

/// Value of an unknown signal.
pub const NO_SIGNAL: i32 = 999;

/// Error for an invalid message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The protobuf is malformed.
    #[error("not a message of qaul.sys.ble: {0}")]
    Decode(String),
    /// Only a module may send this message.
    #[error("unexpected message: only a module sends it")]
    Module,
}

/// Reason of a failed start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The reason is unknown.
    Unknown,
    /// BlueZ denies permission.
    Rights,
    /// BlueZ did not answer in time.
    Timeout,
    /// The adapter does not exist.
    Device,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Ble {
    #[prost(oneof = "Kind", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11")]
    pub message: Option<Kind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Kind {
    #[prost(message, tag = "1")]
    InfoRequest(Nothing),
    #[prost(message, tag = "2")]
    InfoResponse(InfoResponse),
    #[prost(message, tag = "3")]
    StartRequest(StartRequest),
    #[prost(message, tag = "4")]
    StartResult(Done),
    #[prost(message, tag = "5")]
    StopRequest(Nothing),
    #[prost(message, tag = "6")]
    StopResult(Done),
    #[prost(message, tag = "7")]
    DeviceDiscovered(DeviceDiscovered),
    #[prost(message, tag = "8")]
    DeviceUnavailable(DeviceUnavailable),
    #[prost(message, tag = "9")]
    DirectSend(DirectSend),
    #[prost(message, tag = "10")]
    DirectSendResult(DirectSendResult),
    #[prost(message, tag = "11")]
    DirectReceived(DirectReceived),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Nothing {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct InfoResponse {
    #[prost(message, optional, tag = "1")]
    pub device: Option<DeviceInfo>,
    #[prost(message, repeated, tag = "2")]
    pub devices: Vec<DeviceInfo>,
}

/// Fields 5 to 17 describe the radio; libqaul does not use missing ones.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DeviceInfo {
    #[prost(bool, tag = "1")]
    pub ble_support: bool,
    #[prost(string, tag = "2")]
    pub id: String,
    #[prost(string, tag = "3")]
    pub name: String,
    #[prost(bool, tag = "4")]
    pub bluetooth_on: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct StartRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub qaul_id: Vec<u8>,
    /// 0: low power, 1: balanced, 2: low latency.
    #[prost(int32, tag = "2")]
    pub power_setting: i32,
}

/// Result of a start or a stop.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Done {
    #[prost(bool, tag = "1")]
    pub success: bool,
    #[prost(int32, tag = "2")]
    pub error_reason: i32,
    #[prost(string, tag = "3")]
    pub error_message: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DeviceDiscovered {
    #[prost(bytes = "vec", tag = "1")]
    pub qaul_id: Vec<u8>,
    #[prost(int32, tag = "2")]
    pub rssi: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DeviceUnavailable {
    #[prost(bytes = "vec", tag = "1")]
    pub qaul_id: Vec<u8>,
}

impl From<Id> for DeviceUnavailable {
    fn from(id: Id) -> Self {
        Self {
            qaul_id: id.0.to_vec(),
        }
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DirectSend {
    #[prost(bytes = "vec", tag = "1")]
    pub message_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub receiver_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    pub sender_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    pub data: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DirectSendResult {
    #[prost(bytes = "vec", tag = "1")]
    pub id: Vec<u8>,
    #[prost(bool, tag = "2")]
    pub success: bool,
    #[prost(string, tag = "3")]
    pub error_message: String,
}

/// Fields 2 and 3 are not used any more.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DirectReceived {
    #[prost(bytes = "vec", tag = "1")]
    pub from: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    pub data: Vec<u8>,
}

/// Reads a message.
///
/// # Errors
/// The message is malformed.
pub fn read(octets: &[u8]) -> Result<Kind, Error> {
    let wrong = |error: prost::DecodeError| Error::Decode(error.to_string());
    let message = Ble::decode(octets).map_err(wrong)?.message;
    match message {
        Some(message) => Ok(message),
        // libqaul's `module_stop` omits the envelope, so the message is empty.
        None if octets.is_empty() => Ok(Kind::StopRequest(Nothing {})),
        None => Err(Error::Decode("unknown message".to_owned())),
    }
}

/// Returns the message for a result of a start or a stop.
pub fn result(done: Result<(), (Why, String)>) -> Done {
    let reason = |why| match why {
        Why::Unknown => 0,
        Why::Rights => 1,
        Why::Timeout => 2,
        Why::Device => 3,
    };
    match done {
        Ok(()) => Done {
            success: true,
            error_reason: 0,
            error_message: String::new(),
        },
        Err((why, text)) => Done {
            success: false,
            error_reason: reason(why),
            error_message: text,
        },
    }
}
