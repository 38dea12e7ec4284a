//! Vouchers that are made.

use answers::NewVouchers;
use api::Problem;
use net::clock::unix_seconds;
use portal_core::code::Code;
use portal_core::voucher::Voucher;

/// Vouchers that are made at once.
pub const MOST: u32 = 1000;

/// Creates a voucher with a fresh code: for one device, for ever.
pub fn make() -> Result<Voucher, Problem> {
    let mut random = [0; 13];
    getrandom::fill(&mut random).map_err(|error| {
        let what = format!("cannot read random numbers: {error}");
        Problem::new(500, "no_random", what, "try again")
    })?;
    let (code, id) = random.split_at(5);
    let code = Code::new(code.try_into().unwrap_or_default());
    Ok(Voucher::new(net::hex::text(id), code, unix_seconds()))
}

/// Issues a voucher on these terms.
pub fn sell(asked: &NewVouchers) -> Result<Voucher, Problem> {
    let voucher = make()?;
    Ok(Voucher {
        name: asked.name.clone(),
        duration: asked.duration,
        devices: asked.devices,
        until: asked.until,
        bytes: asked.bytes,
        rate: asked.rate,
        online: asked.online,
        ..voucher
    })
}
