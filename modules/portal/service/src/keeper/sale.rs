//! Vouchers that are made, and those that another portal sold.

use answers::Imported;
use api::Problem;
use portal_core::code::Code;
use portal_core::guests::Brought;
use portal_core::pirania;
use portal_core::voucher::Voucher;

use super::Keeper;
use runtime::daemon::{Router, unix_seconds};

/// Vouchers that are made at once.
pub const MOST: u32 = 1000;

impl Keeper {
    /// Takes vouchers that another portal sold, each the text of its file.
    pub fn import(&mut self, texts: &[String], router: &mut Router) -> Result<Imported, Problem> {
        let (now, wall) = self.when();
        let mut imported = Imported::default();
        for (number, text) in texts.iter().enumerate() {
            let (code, _) = random()?;
            let pirania::Import { voucher, lost } = match pirania::read(text, code, wall) {
                Ok(import) => import,
                Err(why) => {
                    imported.refused.push((number, why.to_string()));
                    continue;
                }
            };
            let (id, users) = (voucher.id.clone(), voucher.users.clone());
            match self.guests.bring(voucher, now, &mut self.changes) {
                Brought::New => {}
                Brought::Known => {
                    imported.known += 1;
                    continue;
                }
                Brought::CodeTaken => {
                    let why = "another voucher has the same code: sell a new voucher instead";
                    imported.refused.push((number, why.to_owned()));
                    continue;
                }
            }
            let lost = lost.into_iter().map(|what| (number, what));
            imported.lost.extend(lost);
            for user in users {
                for address in self.addresses(user.mac, router) {
                    let out = &mut self.changes;
                    self.guests.seen(user.mac, address, now, out);
                }
            }
            imported.vouchers.extend(self.voucher(&id));
        }
        self.settle(router);
        Ok(imported)
    }

    /// One more voucher, which nobody else has.
    pub fn make(&self, asked: &answers::NewVouchers) -> Result<Voucher, Problem> {
        let (code, id) = random()?;
        Ok(Voucher {
            name: asked.name.clone(),
            duration: asked.duration,
            devices: asked.devices,
            until: asked.until,
            bytes: asked.bytes,
            rate: asked.rate,
            online: asked.online,
            ..Voucher::new(id, code, unix_seconds())
        })
    }
}

/// A code, and an id.
fn random() -> Result<(Code, String), Problem> {
    let mut random = [0; 13];
    getrandom::fill(&mut random).map_err(|error| {
        let what = format!("no random numbers: {error}");
        Problem::new(500, "no_random", what, "try again")
    })?;
    let (code, id) = random.split_at(5);
    let id = id.iter().map(|octet| format!("{octet:02x}")).collect();
    Ok((Code::new(code.try_into().unwrap_or_default()), id))
}
