//! A community's picture: checks that browsers show the file as a picture, and that it is small
//! enough. Reads only the first bytes; unpacks nothing.

/// Maximum length of a picture in bytes.
pub const LONGEST: usize = 100 * 1024;
/// Maximum pixels of the longest side: the limit for unpacking on a telephone.
const LONGEST_SIDE: u32 = 4096;

/// File format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// WebP.
    Webp,
}

impl Kind {
    /// Returns the media type.
    pub fn media(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
        }
    }
}

/// Properties of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    /// File format.
    pub kind: Kind,
    /// Pixels from side to side.
    pub width: u32,
    /// Pixels from top to bottom.
    pub height: u32,
}

/// Reason to reject a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    /// Too many bytes.
    #[error("too large: {0} bytes, but at most {LONGEST} are allowed")]
    Long(usize),
    /// The file format can contain scripts.
    #[error("SVG is not allowed, because it can contain scripts")]
    Svg,
    /// Another format.
    #[error("not a PNG, JPEG or WebP")]
    Unknown,
    /// The first bytes show the format, but not the size.
    #[error("damaged: no width and height found")]
    Damaged,
    /// Too many pixels, or none.
    #[error("invalid size: {0} by {1} pixels; each side must have 1 to {LONGEST_SIDE}")]
    Large(u32, u32),
}

/// Checks a picture.
///
/// # Errors
/// The bytes are not a picture, or the picture is too large.
pub fn inspect(octets: &[u8]) -> Result<Picture, PictureError> {
    if octets.len() > LONGEST {
        return Err(PictureError::Long(octets.len()));
    }
    let (kind, size) = if octets.starts_with(b"\x89PNG\r\n\x1a\n") {
        (Kind::Png, png(octets))
    } else if octets.starts_with(b"\xff\xd8\xff") {
        (Kind::Jpeg, jpeg(octets))
    } else if octets.starts_with(b"RIFF") && octets.get(8..12) == Some(b"WEBP") {
        (Kind::Webp, webp(octets))
    } else if is_svg(octets) {
        return Err(PictureError::Svg);
    } else {
        return Err(PictureError::Unknown);
    };
    let (width, height) = size.ok_or(PictureError::Damaged)?;
    let fits = |side| (1..=LONGEST_SIDE).contains(&side);
    match fits(width) && fits(height) {
        true => Ok(Picture {
            kind,
            width,
            height,
        }),
        false => Err(PictureError::Large(width, height)),
    }
}

fn is_svg(octets: &[u8]) -> bool {
    let begin = octets.get(..1024).unwrap_or(octets);
    begin.windows(4).any(|four| four == b"<svg")
}

fn array<const N: usize>(octets: &[u8], at: usize) -> Option<[u8; N]> {
    octets.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// Reads the size of a PNG (third edition, section 11.2.1): the header is the first chunk.
fn png(octets: &[u8]) -> Option<(u32, u32)> {
    (array(octets, 8)? == *b"\0\0\0\x0dIHDR").then_some(())?;
    let side = |at| array(octets, at).map(u32::from_be_bytes);
    Some((side(16)?, side(20)?))
}

/// Reads the size of a JPEG (ITU T.81, section B.2.2): the size is in the frame's header, after
/// others.
fn jpeg(octets: &[u8]) -> Option<(u32, u32)> {
    let side = |at| array(octets, at).map(u16::from_be_bytes);
    let mut at = 2;
    loop {
        let [sign, marker] = array(octets, at)?;
        match (sign, marker) {
            // Filled up.
            (0xff, 0xff) => at += 1,
            // DHT, JPG and DAC are not among the frames.
            (0xff, 0xc0..=0xcf) if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((side(at + 7)?.into(), side(at + 5)?.into()));
            }
            // Data without a frame header does not belong to the picture.
            (0xff, 0xd9 | 0xda) => return None,
            (0xff, _) => at += 2 + usize::from(side(at + 2)?),
            _ => return None,
        }
    }
}

/// Reads the size of a WebP (RFC 9649, section 2): three kinds of first chunks.
fn webp(octets: &[u8]) -> Option<(u32, u32)> {
    match &array(octets, 12)? {
        b"VP8 " => {
            (array(octets, 23)? == [0x9d, 0x01, 0x2a]).then_some(())?;
            let side =
                |at| array(octets, at).map(|two| u32::from(u16::from_le_bytes(two)) & 0x3fff);
            Some((side(26)?, side(28)?))
        }
        b"VP8L" => {
            (octets.get(20) == Some(&0x2f)).then_some(())?;
            let both = u32::from_le_bytes(array(octets, 21)?);
            Some(((both & 0x3fff) + 1, (both >> 14 & 0x3fff) + 1))
        }
        b"VP8X" => {
            let side = |at| {
                let [low, middle, high] = array(octets, at)?;
                Some(u32::from_le_bytes([low, middle, high, 0]) + 1)
            };
            Some((side(24)?, side(27)?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn png_of(width: u32, height: u32) -> Vec<u8> {
        let mut octets = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        octets.extend(width.to_be_bytes());
        octets.extend(height.to_be_bytes());
        octets
    }

    fn webp_of(chunk: &[u8]) -> Vec<u8> {
        [b"RIFF\0\0\0\0WEBP", chunk].concat()
    }

    #[test]
    fn each_kind_says_how_large_it_is() {
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc4\0\x02\xff\xc2\0\x11\x08\x01\x02\x03\x04";
        let of = |kind, width, height| {
            Ok(Picture {
                kind,
                width,
                height,
            })
        };
        for (octets, picture) in [
            (png_of(640, 480), of(Kind::Png, 640, 480)),
            (jpeg.to_vec(), of(Kind::Jpeg, 0x0304, 0x0102)),
            (
                webp_of(b"VP8 \0\0\0\0tag\x9d\x01\x2a\x40\x41\xf0\x80"),
                of(Kind::Webp, 0x140, 0xf0),
            ),
            (
                webp_of(b"VP8L\0\0\0\0\x2f\x3f\xc1\x3b\x00"),
                of(Kind::Webp, 320, 240),
            ),
            (
                webp_of(b"VP8X\0\0\0\0\0\0\0\0\x3f\x01\x00\xef\x00\x00"),
                of(Kind::Webp, 320, 240),
            ),
        ] {
            assert_eq!(inspect(&octets), picture);
        }
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        let svg = b"<?xml version=\"1.0\"?><svg onload=\"alert(1)\"/>";
        for (octets, why) in [
            (svg.to_vec(), PictureError::Svg),
            (b"<html>".to_vec(), PictureError::Unknown),
            (b"GIF89a".to_vec(), PictureError::Unknown),
            (Vec::new(), PictureError::Unknown),
            (png_of(640, 480)[..20].to_vec(), PictureError::Damaged),
            (b"\xff\xd8\xff\xda\0\x02".to_vec(), PictureError::Damaged),
            (webp_of(b"VP8 "), PictureError::Damaged),
            (png_of(0, 480), PictureError::Large(0, 480)),
            (png_of(640, 65_000), PictureError::Large(640, 65_000)),
            (vec![0; LONGEST + 1], PictureError::Long(LONGEST + 1)),
        ] {
            assert_eq!(inspect(&octets), Err(why));
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(kind in 0..4_usize, rest: Vec<u8>) {
            let begin: [&[u8]; 4] = [b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBPVP8X"];
            let _ = inspect(&[begin[kind], &rest].concat());
        }
    }
}
