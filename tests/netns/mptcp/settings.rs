//! Settings that weir changes.

use std::path::PathBuf;

use kernel::sysctls::Sysctls;
use lab::{Error, Lab};
use testing::Directory;

#[test]
fn settings_are_put_back_after_a_kill() -> Result<(), Error> {
    const NAME: &str = "mptcp/add_addr_timeout";
    let mut lab = Lab::new();
    lab.host("one")?;
    lab.host("other")?;
    let folder = Directory::new();
    let note: PathBuf = folder.join("settings");
    let value = |role: &str| -> Result<String, Error> {
        let text = lab
            .node(role)?
            .run("sysctl -n net.mptcp.add_addr_timeout")?;
        Ok(text.trim().to_owned())
    };
    let usual = value("one")?;
    assert_ne!(usual, "7");
    let inside = |role: &str, work: &(dyn Fn(&mut Sysctls) -> std::io::Result<()> + Sync)| {
        lab.node(role)?
            .enter(|| {
                let mut sysctls = Sysctls::open(&note)?;
                work(&mut sysctls)?;
                // Killed.
                std::mem::forget(sysctls);
                Ok(())
            })?
            .map_err(Error::system::<std::io::Error>("set"))
    };
    inside("one", &|sysctls| {
        assert!(sysctls.set(NAME, "7")?);
        Ok(())
    })?;
    assert_eq!(
        (value("one")?.as_str(), value("other")?),
        ("7", usual.clone())
    );
    inside("one", &|_| Ok(()))?;
    assert_eq!(value("one")?, usual);
    inside("one", &|sysctls| {
        sysctls.set(NAME, "7")?;
        sysctls.restore()
    })?;
    assert_eq!(value("one")?, usual);
    Ok(())
}
