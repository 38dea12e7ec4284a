//! A firewall that refuses changes for a while, because another program edits its rules or memory
//! is short.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use answers::PartnerState;
use lab::Error;
use lab::namespace::wait_until;
use lab::transfer::{Echo, ask_tcp};
use lab::uplinks::{Options, PARTNER, SERVER, Uplinks};
use testing::Directory;
use weir_tests::partner::{Pair, Partner};
use weir_tests::{LIMIT, Weir, binary};

use crate::multipath::{SECOND, at};

/// A folder with an `nft` that refuses while a flag file exists in the folder.
struct Firewall(Directory);

impl Firewall {
    fn new() -> Result<Self, Error> {
        let folder = Directory::new();
        let flag = folder.join("refuses");
        let script = format!(
            "#!/bin/sh\n[ -e {} ] && {{ echo busy >&2; exit 1; }}\nexec {} \"$@\"\n",
            flag.display(),
            "/usr/sbin/nft"
        );
        let write = || {
            fs::write(folder.join("nft"), script)?;
            fs::set_permissions(folder.join("nft"), PermissionsExt::from_mode(0o755))
        };
        write().map_err(Error::system("write an nft"))?;
        Ok(Self(folder))
    }

    fn path(&self) -> String {
        let path = std::env::var("PATH").unwrap_or_default();
        format!("PATH={}:{path}", self.0.display())
    }

    fn refuse(&self) -> Result<(), Error> {
        fs::write(self.0.join("refuses"), "").map_err(Error::system("refuse"))
    }

    fn take(&self) -> Result<(), Error> {
        fs::remove_file(self.0.join("refuses")).map_err(Error::system("take"))
    }
}

#[test]
fn rules_that_were_refused_are_tried_again() -> Result<(), Error> {
    let uplinks = Uplinks::build(&Options::mbit(&[100]))?;
    let (routers, partners) = (Firewall::new()?, Firewall::new()?);
    let partner = Partner::by(uplinks.partner(), &["env", &partners.path()])?;
    let line = partner.pair(&PARTNER.to_string())?;
    let weir = routers.0.join("weir");
    let script = format!(
        "#!/bin/sh\nexec env '{}' {} \"$@\"\n",
        routers.path(),
        binary().display()
    );
    fs::write(&weir, script).map_err(Error::system("write a script"))?;
    fs::set_permissions(&weir, PermissionsExt::from_mode(0o755))
        .map_err(Error::system("write a script"))?;
    routers.refuse()?;
    let config = format!("[multipath]\npartner = \"{line}\"\n");
    let weir = Weir::start_as(
        &weir,
        uplinks.router(),
        &config,
        &["--only", "multipath", "-v"],
    )?;
    let pair = Pair {
        weir,
        partner,
        uplinks,
    };
    pair.wait_for("the partner", |told| told.state == PartnerState::Connected)?;
    let refused = "refuses the rules of multipath";
    wait_until("it to be told", LIMIT, || {
        Ok(pair.weir.log().contains(refused))
    })?;
    std::thread::sleep(7 * SECOND);
    assert!(!pair.paths()?.redirects);
    assert_eq!(
        pair.weir.log().matches(refused).count(),
        1,
        "once is enough"
    );
    routers.take()?;
    pair.wait_for("the rules", |told| told.redirects && told.tunnel)?;
    let _echo = Echo::serve(pair.uplinks.server(), at(SERVER))?;
    assert_eq!(ask_tcp(pair.uplinks.client(), at(SERVER), b"one")?, b"one");

    partners.refuse()?;
    pair.uplinks
        .partner()
        .run("nft delete table inet weir_partner")?;
    let refused = "refuses the partner's rules";
    wait_until("it to be told", LIMIT, || {
        Ok(pair.partner.log().contains(refused))
    })?;
    partners.take()?;
    let is_there = || -> Result<bool, Error> {
        let tables = pair.uplinks.partner().run("nft list tables")?;
        Ok(tables.contains("weir_partner"))
    };
    wait_until("the partner's rules", LIMIT, is_there)?;
    // The rules are flushed, and nothing refuses changes.
    pair.uplinks.partner().run("nft flush ruleset")?;
    wait_until("the partner's rules again", LIMIT, || {
        Ok(is_there()?
            && pair
                .partner
                .log()
                .contains("removed the partner's rules: restored"))
    })?;
    let ping = format!("ping -c 2 -i 0.2 -W 5 {SERVER}");
    let told = pair.uplinks.client().run(&ping)?;
    assert!(told.contains("2 received"), "{told}");
    Ok(())
}
