//! Tests of `weir config`, and of the errors for an invalid configuration.

use std::fs;

use crate::support::{Directory, golden, run};

#[test]
fn the_configuration_is_printed_as_a_file_again() {
    let directory = Directory::new();
    let file = directory.path().join("weir.toml");
    let path = file.to_str().expect("text");
    fs::write(
        &file,
        "[offload]\ntcp = false\n\n[ports.\"eth0.10\"]\nhook = \"off\"\n",
    )
    .expect("written");
    let printed = run(&["config", "--config", path]);
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    golden("config.txt", &printed.out.replace(path, "FILE"));

    let again = directory.path().join("again.toml");
    fs::write(&again, &printed.out).expect("written");
    let values = |path: &str| -> Vec<(String, serde_json::Value)> {
        let out = run(&["config", "--json", "--config", path]).out;
        let config: answers::Config = serde_json::from_str(&out).expect("JSON");
        config
            .entries
            .into_iter()
            .map(|entry| (entry.key, entry.value))
            .collect()
    };
    assert_eq!(values(again.to_str().expect("text")), values(path));
    golden("config-keys.txt", &run(&["config", "--keys"]).out);
}

#[test]
fn a_bad_configuration_is_told_whole() {
    let directory = Directory::new();
    let file = directory.path().join("weir.toml");
    let path = file.to_str().expect("text");
    fs::write(&file, "[offload]\ntpc = true\nreprove = 3\n").expect("written");
    for command in ["config", "run", "check"] {
        let ran = run(&[command, "--config", path]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{command}");
        assert_eq!(
            ran.err.replace(path, "FILE"),
            "weir: the configuration has 2 errors\n  FILE:2:1: offload.tpc: unknown key; did you \
             mean `tcp`?\n  FILE:3:11: offload.reprove: cannot be the number 3; write a time \
             from \"1s\" to \"10m\": a whole number and ms, s, m or h, in quotes\n  Hint: \
             nothing was changed; `weir config --keys` lists all keys\n"
        );
    }
    for command in ["config", "run", "check"] {
        let ran = run(&[command, "--config", "/nonexistent/weir.toml"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{command}");
        assert_eq!(
            ran.err,
            "weir: cannot read the configuration /nonexistent/weir.toml: No such file or \
             directory (os error 2)\n  Hint: name an existing file by `--config FILE`; without \
             `--config`, weir reads /etc/weir/weir.toml if it exists\n"
        );
    }
}

#[test]
fn a_page_that_would_not_be_served_is_told() {
    let directory = Directory::new();
    let file = directory.path().join("weir.toml");
    let path = file.to_str().expect("text");
    let warned = |web: &str| {
        fs::write(&file, format!("[web]\n{web}\n")).expect("written");
        let ran = run(&["config", "--config", path]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.err
    };
    let open = "listen = [\"0.0.0.0:80\"]";
    let told = warned(open);
    assert!(
        told.starts_with(
            "weir: warning: cannot serve the page: the web page would listen on \
            0.0.0.0:80 without TLS"
        ) && told.contains("\n  Hint: listen on 127.0.0.1:80"),
        "{told}"
    );
    for well in ["insecure = true", "tls = \"own\"", "enabled = false"] {
        let well = format!("{open}\n{well}");
        assert_eq!(warned(&well), "", "{well}");
    }
}
