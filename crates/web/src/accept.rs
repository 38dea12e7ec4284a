//! Content encoding that a client accepts: pure (RFC 9110 section 12.5.3).

/// Encodings of stored files, the smallest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// `br` (RFC 7932). Browsers offer it over TLS, and to this machine.
    Brotli,
    /// `gzip` (RFC 1952).
    Gzip,
    /// Uncompressed.
    Plain,
}

impl Encoding {
    /// Returns the smallest encoding that an `Accept-Encoding` header allows. Weights count only as
    /// accepted or refused.
    pub fn choose(header: &str) -> Self {
        let (mut brotli, mut gzip, mut any) = (None, None, None);
        for item in header.split(',') {
            let mut parts = item.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default();
            let taken = !parts.any(refuses);
            let slot = match name {
                _ if name.eq_ignore_ascii_case("br") => &mut brotli,
                _ if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") => {
                    &mut gzip
                }
                "*" => &mut any,
                _ => continue,
            };
            *slot = Some(taken);
        }
        let takes = |named: Option<bool>| named.or(any).unwrap_or(false);
        match (takes(brotli), takes(gzip)) {
            (true, _) => Self::Brotli,
            (false, true) => Self::Gzip,
            (false, false) => Self::Plain,
        }
    }
}

/// Returns true for `q=0`, `q=0.0`, …
fn refuses(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else {
        return false;
    };
    name.trim().eq_ignore_ascii_case("q")
        && value.trim().starts_with('0')
        && value.trim().bytes().all(|b| matches!(b, b'0' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_that_is_taken() {
        for (header, encoding) in [
            ("", Encoding::Plain),
            ("identity", Encoding::Plain),
            ("gzip, deflate", Encoding::Gzip),
            ("gzip, deflate, br, zstd", Encoding::Brotli),
            ("BR;q=0.1", Encoding::Brotli),
            ("br;q=0, gzip", Encoding::Gzip),
            ("br; q = 0.000 , gzip;q=0.0", Encoding::Plain),
            ("*", Encoding::Brotli),
            ("*;q=0", Encoding::Plain),
            ("*, br;q=0", Encoding::Gzip),
            ("xbr, gzipp", Encoding::Plain),
            (",,;;q=,", Encoding::Plain),
        ] {
            assert_eq!(Encoding::choose(header), encoding, "{header}");
        }
    }
}
