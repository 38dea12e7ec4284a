//! Problems of the page or of the Prometheus listener affect nothing else; weir reports them and
//! tries again.

use std::fs::Permissions;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use lab::namespace::wait_until;
use lab::{Error, Lab, Namespace, Options};
use testing::Directory;
use weir_tests::{LIMIT, Weir};

const ADDRESS: &str = "127.0.0.1:9347";
const TOKEN: &str = "0123456789abcdef0123";

/// Returns the status of an answer; 0: closed port.
fn ask(router: &Namespace, path: &str) -> Result<String, Error> {
    let mut curl = Command::new("curl");
    curl.args(["-s", "-o", "/dev/null", "-w", "%{http_code}", "-H"]);
    curl.arg(format!("Authorization: Bearer {TOKEN}"));
    curl.arg(format!("http://{ADDRESS}{path}"));
    let out = router.enter(|| curl.output())?;
    let out = out.map_err(Error::system("run curl"))?;
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// Returns the parts with a problem.
fn problems(weir: &Weir) -> Result<Vec<String>, Error> {
    let problems = weir.status()?.problems.into_iter();
    Ok(problems.map(|one| one.part).collect())
}

fn write(file: &Path, text: &str, mode: u32) -> Result<(), Error> {
    std::fs::write(file, text).map_err(Error::system("write a file"))?;
    std::fs::set_permissions(file, Permissions::from_mode(mode))
        .map_err(Error::system("set rights"))
}

#[test]
fn a_part_that_does_not_work_is_told_and_tried_again() -> Result<(), Error> {
    let lab = Lab::gateway(&Options::default())?;
    let router = lab.node("router")?;
    let folder = Directory::new();
    let token = folder.join("token");
    write(&token, TOKEN, 0o644)?;
    let config = format!(
        "[web]\nlisten = [\"{ADDRESS}\"]\npassword = {:?}\nmetrics = {token:?}\n",
        folder.join("secrets/password"),
    );

    // Another program has the port, and all users may read the token.
    let other = router.enter(|| TcpListener::bind(ADDRESS))?;
    let other = other.map_err(Error::system("listen"))?;
    let weir = Weir::start(router, &config, &[])?;
    assert_eq!(problems(&weir)?, ["page"]);
    drop(other);
    let mut reload = Command::new(weir_tests::binary());
    reload.arg("reload").arg("--socket").arg(weir.socket());
    let said = reload.output().map_err(Error::system("run weir reload"))?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(
        said.contains("metrics") && !said.contains("page "),
        "{said}"
    );
    wait_until("the page is served", LIMIT, || {
        Ok(ask(router, "/")? == "200")
    })?;
    assert_eq!(problems(&weir)?, ["metrics"]);
    assert_eq!(ask(router, "/metrics")?, "500");
    write(&token, TOKEN, 0o600)?;
    assert_eq!(
        (ask(router, "/metrics")?.as_str(), problems(&weir)?),
        ("200", vec![])
    );
    weir.end(nix::sys::signal::Signal::SIGTERM)?;
    Ok(())
}
