//! The password that lets guests in.

use super::config::{FreeAccessMode, Portal};
use runtime::Error;
use runtime::secret::first_line;

/// Returns the password for free access, if configured.
pub fn password(config: &Portal) -> Result<Option<String>, Error> {
    if *config.free != FreeAccessMode::Password {
        return Ok(None);
    }
    let hint = "write it into the first line of a file, and name that file as `free_password` under [portal]";
    let Some(file) = config.free_password.0.as_deref() else {
        return Err(Error::new("missing password for free access", hint));
    };
    let what = format!("cannot read the password in {}", file.display());
    let line = first_line(file).map_err(|e| Error::with_cause(&what, &e, hint))?;
    match String::from_utf8(line) {
        Ok(line) if (1..=200).contains(&line.len()) => Ok(Some(line)),
        _ => {
            let what = format!(
                "no valid password in the first line of {}: it is empty, longer than 200 bytes, or not UTF-8",
                file.display()
            );
            Err(Error::new(what, hint))
        }
    }
}
