//! Frames on a fresh connection.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::frame::{Frame, FrameError, HEADER, Kind};

/// Failure to read a frame.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The connection broke or ended.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The bytes are not a valid frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// Reads one frame, and no byte behind it.
pub async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<(Kind, Vec<u8>), WireError> {
    let mut header = [0; HEADER];
    stream.read_exact(&mut header).await?;
    let header = Frame::header(&header)?;
    let mut body = vec![0; header.length];
    stream.read_exact(&mut body).await?;
    Ok((header.kind, body))
}
