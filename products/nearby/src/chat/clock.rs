//! Local time.

/// Returns a message's local time; with the day, unless it is today.
pub fn clock(time: u64) -> String {
    let zone = jiff::tz::TimeZone::system();
    let moment = i64::try_from(time).ok();
    let moment = moment.and_then(|it| jiff::Timestamp::from_millisecond(it).ok());
    let Some(moment) = moment.map(|it| it.to_zoned(zone.clone())) else {
        return "--:--".to_owned();
    };
    let (date, time) = (moment.date(), moment.time());
    let clock = format!("{:02}:{:02}", time.hour(), time.minute());
    match date == jiff::Timestamp::now().to_zoned(zone).date() {
        true => clock,
        false => format!("{date} {clock}"),
    }
}

/// Milliseconds since 1970.
pub fn now() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0)
}
