//! Conflicts with a portal that `weir check` reports.

use super::*;

/// The lab's own rules do not conflict with a portal; these rules do.
const IN_THE_WAY: &str = "
table inet pirania { chain c { }; }
table ip early {
    chain raw {
        type filter hook prerouting priority raw;
        iifname { \"lan0\", \"wan0\" } tcp dport { 80, 443 } notrack
    }
    chain proxy {
        type nat hook prerouting priority -150;
        iifname != \"wan0\" meta l4proto { tcp, udp } th dport 53 redirect to :5353
    }
    chain input {
        type filter hook input priority 0; policy drop;
        ct state vmap { established : accept, related : accept }
        iif lo accept
        ct status dnat accept
        iifname lan0 tcp dport { 22, 53, 80 } accept
    }
}";

/// Returns the missing features with a remedy that `weir check` reports for this configuration:
/// name and problem.
pub(crate) fn missing(router: &Namespace, config: &Path) -> Result<Vec<(String, String)>, Error> {
    let mut command = router.command(&weir_tests::binary().display().to_string());
    // The output counts, not the exit status.
    let told = command.args(["check", "--json", "--config"]).arg(config);
    let told = told.output().map_err(unexpected)?.stdout;
    let told: serde_json::Value = serde_json::from_slice(&told).map_err(unexpected)?;
    let features = told["features"]
        .as_array()
        .ok_or_else(|| unexpected(&told))?;
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let missing = features.iter().filter(|one| one["present"] == false);
    let missing = missing.filter(|one| !one["hint"].is_null());
    Ok(missing
        .map(|one| (text(&one["name"]), text(&one["detail"])))
        .collect())
}

/// The check lists each conflict with a remedy, and lists nothing without a conflict.
#[test]
fn check_names_what_is_in_the_way() -> Result<(), Error> {
    let lab = Lab::gateway(&Options::default())?;
    let router = lab.node("router")?;
    let file = std::env::temp_dir().join(format!("weir-portal-check-{}", std::process::id()));
    let check = |more: &str| -> Result<Vec<(String, String)>, Error> {
        let config = format!("[portal]\ndevices = [\"lan0\"]\n{more}");
        std::fs::write(&file, config).map_err(unexpected)?;
        let told = missing(router, &file)?;
        std::fs::remove_file(&file).map_err(unexpected)?;
        Ok(told)
    };
    let before = check("")?;
    router.nft(IN_THE_WAY)?;
    let told = check("garden = [\"::/0\"]\n")?;
    let new = told.into_iter().filter(|one| !before.contains(one));
    let new: Vec<_> = new.collect();
    let new: Vec<_> = new
        .iter()
        .map(|(name, detail)| (&**name, &**detail))
        .collect();
    assert_eq!(
        new,
        [
            ("weir is the only portal", "there are rules of Pirania"),
            (
                "guests' connections are tracked",
                "ip early raw has tcp 80, tcp 443 from lan0"
            ),
            (
                "names and pages of guests lead to the portal",
                "ip early proxy has udp 53, tcp 53 from lan0"
            ),
            (
                "the firewall lets guests to the portal",
                "ip early input refuses tcp 2080 from lan0"
            ),
            (
                "the walled garden is limited",
                "it contains ::/0: everything is open"
            ),
        ]
    );
    assert!(
        !before
            .iter()
            .any(|(name, _)| new.iter().any(|(new, _)| new == name))
    );
    Ok(())
}
