//! The log as a plot.

use super::air::Air;
use crate::power::{Controller, Settings, plot};

/// Written to the folder in `WEIR_PICTURES`, for inspection.
#[test]
fn a_search_is_drawn() {
    let mut air = Air::of(&[83.0]);
    let mut control =
        Controller::new(Settings::default(), (0..=20).step_by(2).collect()).expect("powers");
    air.run(&mut control, 15_000);
    air.all[0].loss += 12.0;
    air.run(&mut control, 10_000);
    let begin = air.log[0].at;
    for entry in &mut air.log {
        entry.at -= begin;
    }
    let svg = plot("wlan0 <&", &air.log);
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("<title>wlan0 &lt;&amp;</title>"));
    assert!(svg.contains("power, dBm") && svg.contains("<title>lost</title>"));
    let rates = svg.matches("height=\"6\"").count();
    let known = air.log.iter().filter(|entry| entry.rate.is_some()).count();
    assert!(rates == known && rates > 5, "{rates} of {known}");
    assert!(svg.contains("sending rate, Mbit/s"));
    let inside = |number: &str| {
        number
            .parse::<f64>()
            .is_ok_and(|it| (0.0..=960.0).contains(&it))
    };
    let mut circles = 0;
    for part in svg.split("cx=\"").skip(1) {
        let number = part.split('"').next().unwrap_or_default();
        assert!(inside(number), "{number}");
        circles += 1;
    }
    assert!(circles > 10, "{circles}");
    if let Ok(folder) = std::env::var("WEIR_PICTURES") {
        std::fs::write(format!("{folder}/radio-log.svg"), svg).expect("a picture");
    }
}

#[test]
fn nothing_is_drawn_of_nothing_and_of_one_step() {
    let none = plot("", &[]);
    assert!(none.contains("power, dBm") && !none.contains("NaN") && !none.contains("inf"));
    let mut air = Air::of(&[60.0]);
    let mut control = Controller::new(Settings::default(), vec![20]).expect("a power");
    air.run(&mut control, 10);
    let one = plot("one", &air.log);
    assert!(!one.contains("NaN") && !one.contains("inf"), "{one}");
}
