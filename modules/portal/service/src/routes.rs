//! Routes of the portal's API.

mod page;

use std::rc::Rc;

use answers::{
    FormerVouchers, NewVouchers, NotesHeard, PortalClients, PortalKey, PortalNotes, PortalVoucher,
    PortalVouchers, VoucherDevice, VoucherName,
};
use api::{AccessLevel, ApiRequest, EmptyBody, Method, Problem, ResponseFuture, Route};
use net::clock::unix_seconds;
use net::mac::parse as mac_of;
use net::mac::parse_station as station_of;
use portal_core::account::is_name;
use portal_core::journal::Entry;
use portal_core::rates::RATES;
use tokio::sync::oneshot;

pub use page::picture;

use super::access::PortalAccess;
use super::background::run_blocking;
use super::guest_service::{GuestService, MOST, no_voucher, sell};
use runtime::daemon::ApiContext;

/// Bytes of the longest name of a voucher.
const LONGEST_NAME: usize = 200;

/// Returns all routes.
pub fn all(access: &PortalAccess, face: &Rc<dyn ApiContext>) -> Vec<Route> {
    let me = || access.clone();
    let (clients, vouchers, add, rename) = (me(), me(), me(), me());
    let (activate, revoke, end) = (me(), me(), me());
    let (one, key, told_by, heard) = (me(), me(), me(), me());
    let at = || Rc::clone(face);
    let (listed_at, named_at, admitted_at, called_at, ended_at) = (at(), at(), at(), at(), at());
    let (heard_at, imported_at, import) = (at(), at(), me());
    let mut all = vec![
        Route::get("/v1/portal/clients", AccessLevel::User, move |()| {
            let keeper = clients.guest_service()?;
            let keeper = keeper.borrow();
            let clients = keeper.clients(&listed_at.router());
            let hours = keeper.schedule.shown();
            Ok(PortalClients { clients, hours })
        }),
        Route::get("/v1/portal/vouchers", AccessLevel::User, move |()| {
            let vouchers = vouchers.guest_service()?.borrow().vouchers();
            Ok(PortalVouchers { vouchers })
        }),
        Route::new(
            Method::GET,
            "/v1/portal/vouchers/{id}",
            AccessLevel::User,
            move |asked: ApiRequest<(), EmptyBody>| -> Result<PortalVoucher, Problem> {
                let id = &asked.path_params[0];
                let keeper = one.guest_service()?;
                let keeper = keeper.borrow();
                keeper.voucher_details(id).ok_or_else(|| no_voucher(id))
            },
        ),
        Route::new_async(
            Method::POST,
            "/v1/portal/import",
            AccessLevel::User,
            move |asked: ApiRequest<(), FormerVouchers>| {
                let router = &mut imported_at.router();
                let made = import.guest_service().and_then(|keeper| {
                    let mut keeper = keeper.borrow_mut();
                    let imported = keeper.import(&asked.body.pirania, router)?;
                    Ok((imported, keeper.store.settled()))
                });
                Box::pin(async move {
                    let (imported, settled) = made?;
                    kept(settled).await?;
                    Ok(imported)
                })
            },
        ),
        Route::get("/v1/portal/key", AccessLevel::User, move |()| {
            let key = key.guest_service()?.borrow().node.key.public().to_string();
            Ok(PortalKey { key })
        }),
        Route::new_async(
            Method::GET,
            "/v1/portal/notes",
            AccessLevel::Root,
            move |_: ApiRequest<(), EmptyBody>| told(&told_by),
        ),
        Route::new_async(
            Method::POST,
            "/v1/portal/notes",
            AccessLevel::Root,
            move |asked: ApiRequest<(), PortalNotes>| {
                hear(&heard, asked.body.lines, Rc::clone(&heard_at))
            },
        ),
        Route::new_async(
            Method::POST,
            "/v1/portal/vouchers",
            AccessLevel::User,
            move |asked: ApiRequest<(), NewVouchers>| self::add(&add, asked.body),
        ),
        Route::new_async(
            Method::POST,
            "/v1/portal/vouchers/{id}/rename",
            AccessLevel::User,
            move |asked: ApiRequest<(), VoucherName>| {
                let router = &mut named_at.router();
                changed(&rename, &asked.path_params[0], |keeper, id| {
                    name(&asked.body.name)?;
                    keeper.rename(id, asked.body.name.clone(), router);
                    Ok(())
                })
            },
        ),
        Route::new_async(
            Method::POST,
            "/v1/portal/vouchers/{id}/activate",
            AccessLevel::User,
            move |asked: ApiRequest<(), VoucherDevice>| {
                let router = &mut admitted_at.router();
                changed(&activate, &asked.path_params[0], |keeper, id| {
                    let mac = station_of(&asked.body.mac).ok_or_else(no_mac)?;
                    match keeper.activate(id, mac, router) {
                        Some(Err(_)) => Err(is_over(id)),
                        Some(Ok(())) | None => Ok(()),
                    }
                })
            },
        ),
        Route::new_async(
            Method::POST,
            "/v1/portal/vouchers/{id}/revoke",
            AccessLevel::User,
            move |asked: ApiRequest<(), EmptyBody>| {
                let router = &mut called_at.router();
                changed(&revoke, &asked.path_params[0], |keeper, id| {
                    keeper.revoke(id, router);
                    Ok(())
                })
            },
        ),
        Route::new(
            Method::POST,
            "/v1/portal/clients/{mac}/end",
            AccessLevel::User,
            move |asked: ApiRequest<(), EmptyBody>| -> Result<PortalClients, Problem> {
                let keeper = end.guest_service()?;
                let mut keeper = keeper.borrow_mut();
                let router = &mut ended_at.router();
                let mac = mac_of(&asked.path_params[0]).ok_or_else(no_mac)?;
                if !keeper.end(mac, router) {
                    let detail = format!(
                        "no logged-in device {}",
                        api::problem::clipped(&asked.path_params[0])
                    );
                    let hint = "see `weir portal clients`";
                    return Err(Problem::new(404, "no_client", detail, hint));
                }
                let clients = keeper.clients(router);
                let hours = keeper.schedule.shown();
                Ok(PortalClients { clients, hours })
            },
        ),
    ];
    all.extend(page::all(access));
    all
}

/// Returns the notes for other nodes.
fn told(access: &PortalAccess) -> ResponseFuture<PortalNotes> {
    let work = access
        .guest_service()
        .map(|keeper| keeper.borrow().export_notes());
    Box::pin(async move {
        let lines = run_blocking(work?).await?;
        Ok(PortalNotes { lines })
    })
}

/// Imports the notes of other nodes.
fn hear(
    access: &PortalAccess,
    lines: Vec<String>,
    face: Rc<dyn ApiContext>,
) -> ResponseFuture<NotesHeard> {
    let keeper = access.guest_service();
    Box::pin(async move {
        let keeper = keeper?;
        let work = {
            let keeper = keeper.borrow();
            keeper.node.verify_notes(lines, &keeper.guests)
        };
        let looked = run_blocking(work).await?;
        let heard = keeper.borrow_mut().import_notes(looked, &mut face.router());
        Ok(heard)
    })
}

/// Changes a voucher. The response is sent once the change is on the disk.
fn changed(
    access: &PortalAccess,
    id: &str,
    change: impl FnOnce(&mut GuestService, &str) -> Result<(), Problem>,
) -> ResponseFuture<PortalVoucher> {
    let changed = access.guest_service().and_then(|keeper| {
        let mut keeper = keeper.borrow_mut();
        change(&mut keeper, id)?;
        let shown = keeper.voucher(id).ok_or_else(|| no_voucher(id))?;
        Ok((shown, keeper.store.settled()))
    });
    Box::pin(async move {
        let (shown, settled) = changed?;
        kept(settled).await?;
        Ok(shown)
    })
}

/// Creates vouchers. They exist once they are on the disk.
fn add(access: &PortalAccess, asked: NewVouchers) -> ResponseFuture<PortalVouchers> {
    let made = || {
        allowed(&asked)?;
        let keeper = access.guest_service()?;
        let mut made = Vec::new();
        for _ in 0..asked.count {
            made.push(sell(&asked)?);
        }
        let lines = made
            .iter()
            .map(|v| Entry::Voucher(Box::new(v.clone())).line())
            .collect();
        let written = keeper.borrow().store.write(lines);
        Ok((keeper, made, written))
    };
    let made = made();
    Box::pin(async move {
        let (keeper, made, written) = made?;
        let failed = |why: String| {
            let hint = "free space on the disk; no voucher was issued";
            Problem::new(
                500,
                "not_written",
                format!("cannot store the voucher: {why}"),
                hint,
            )
        };
        written
            .await
            .map_err(|e| failed(e.to_string()))?
            .map_err(failed)?;
        let mut keeper = keeper.borrow_mut();
        // Of 2^40 codes, no two should be equal; if two are, there is a voucher less.
        let ids: Vec<String> = made
            .into_iter()
            .filter_map(|voucher| {
                let id = voucher.id.clone();
                keeper.guests.add(voucher).then_some(id)
            })
            .collect();
        keeper.statistics.sold(ids.len());
        let vouchers = ids.iter().filter_map(|id| keeper.voucher(id)).collect();
        Ok(PortalVouchers { vouchers })
    })
}

/// Completes once the change is on the disk.
async fn kept(settled: oneshot::Receiver<Result<(), String>>) -> Result<(), Problem> {
    let failed = |why: String| {
        let detail = format!("the change works, but is lost when weir restarts: {why}");
        let hint = "free space on the disk; weir keeps retrying";
        Problem::new(500, "not_written", detail, hint)
    };
    let written = settled.await.map_err(|error| failed(error.to_string()))?;
    written.map_err(failed)
}

fn allowed(asked: &NewVouchers) -> Result<(), Problem> {
    let wrong = |what: String, hint: &str| Err(Problem::new(400, "wrong_voucher", what, hint));
    if asked.count == 0 || asked.count > MOST {
        let hint = "issue more in several calls";
        return wrong(
            format!(
                "invalid number of vouchers: {}; use 1 to {MOST} at once",
                asked.count
            ),
            hint,
        );
    }
    if asked.devices == 0 || asked.devices > 1000 {
        return wrong(
            format!(
                "invalid number of devices: {}; use 1 to 1000",
                asked.devices
            ),
            "give a number in that range",
        );
    }
    if asked.duration == Some(0) {
        return wrong("invalid duration: 0".to_owned(), "give a longer duration");
    }
    let far = u64::from(u32::MAX);
    if asked.duration.is_some_and(|time| time > far) || asked.until.is_some_and(|day| day > far) {
        return wrong(
            "invalid time: it is after the year 2106".to_owned(),
            "issue it without an end, or without a day",
        );
    }
    if asked.until.is_some_and(|day| day <= unix_seconds()) {
        return wrong(
            "invalid time: the voucher could only be used before today".to_owned(),
            "give a day in the future",
        );
    }
    if asked.bytes == Some(0) {
        return wrong(
            "invalid limit: 0 bytes".to_owned(),
            "give a number of bytes, or none for no limit",
        );
    }
    if asked.rate.is_some_and(|rate| !RATES.contains(&rate)) {
        return wrong(
            "invalid rate: it is below 64 kbit/s or above 1 Tbit/s".to_owned(),
            "give a rate in bits per second, or none for no limit",
        );
    }
    if asked.online && asked.duration.is_none() {
        return wrong(
            "a voucher without an end cannot count online time only".to_owned(),
            "give a duration",
        );
    }
    name(&asked.name)
}

fn name(name: &str) -> Result<(), Problem> {
    // Control characters would change the direction of the following text on a sheet.
    if name.len() > LONGEST_NAME || !is_name(name) {
        let what = format!("invalid name: use one line of at most {LONGEST_NAME} bytes");
        return Err(Problem::new(400, "wrong_name", what, "use a shorter name"));
    }
    Ok(())
}

fn no_mac() -> Problem {
    let hint = "write it as 02:00:5e:10:00:01";
    Problem::new(400, "wrong_mac", "not a hardware address", hint)
}

fn is_over(id: &str) -> Problem {
    let detail = format!("voucher {id} has expired or was revoked");
    Problem::new(
        409,
        "voucher_over",
        detail,
        "issue another by `weir portal voucher add`",
    )
}
