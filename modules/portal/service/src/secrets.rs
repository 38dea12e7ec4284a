//! The password that lets guests in.

use super::config::{Free, Portal};
use runtime::Error;
use runtime::secret::first_line;

/// The password that lets in without a voucher, where that is asked for.
pub fn password(config: &Portal) -> Result<Option<String>, Error> {
    if *config.free != Free::Password {
        return Ok(None);
    }
    let hint =
        "write it into the first line of a file, and name that as `free_password` under [portal]";
    let Some(file) = config.free_password.0.as_deref() else {
        return Err(Error::new(
            "guests get in by a password, and there is none",
            hint,
        ));
    };
    let what = format!("the password in {} cannot be read", file.display());
    let line = first_line(file).map_err(|e| Error::because(&what, &e, hint))?;
    match String::from_utf8(line) {
        Ok(line) if (1..=200).contains(&line.len()) => Ok(Some(line)),
        _ => {
            let what = format!(
                "the first line of {} is no password: it has none, over 200 bytes, or is no UTF-8",
                file.display()
            );
            Err(Error::new(what, hint))
        }
    }
}
