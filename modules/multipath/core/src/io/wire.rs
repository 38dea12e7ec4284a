//! Frames on a fresh connection.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::frame::{Frame, FrameError, HEADER, Kind};

/// A frame could not be read.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The connection broke or ended.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// What came is no frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// Reads one frame, and no byte of what follows it.
pub async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<(Kind, Vec<u8>), WireError> {
    let mut header = [0; HEADER];
    stream.read_exact(&mut header).await?;
    let header = Frame::header(&header)?;
    let mut body = vec![0; header.length];
    stream.read_exact(&mut body).await?;
    Ok((header.kind, body))
}
