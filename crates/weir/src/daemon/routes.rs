//! What can be asked of the daemon, row by row.

use std::rc::Rc;

use api::server::streamed;
use api::{Asked, CaptureQuery, FlowFilter, Method, Nothing, Problem, Route, Routes, Who, capture};

use super::face::Face;

/// The table of all that this daemon answers.
pub fn routes(face: &Rc<Face>) -> Routes {
    Routes::new([
        get(face, "/v1/status", |face, ()| Ok(face.status())),
        flows(face),
        get(face, "/v1/hops", |face, ()| Ok(face.hops())),
        get(face, "/v1/ports", |face, ()| Ok(face.ports())),
        get(face, "/v1/drops", |face, ()| Ok(face.drops())),
        get(face, "/v1/devices", |face, ()| face.devices()),
        get(face, "/v1/talks", |face, asked| face.talks(&asked)),
        history(face),
        get(face, "/v1/paths", |face, ()| Ok(face.paths())),
        get(face, "/v1/probes", |face, ()| face.probes()),
        get(face, "/v1/explain", |face, asked| face.explain(&asked)),
        get(face, "/v1/config", |face, ()| Ok(face.config())),
        post(face, "/v1/reload", Who::User, Face::reload),
        begin_capture(face),
        post(face, "/v1/capture/stop", Who::Root, Face::stop_capture),
    ])
}

fn get<Q: api::Query + 'static, T: serde::Serialize + 'static>(
    face: &Rc<Face>,
    path: &'static str,
    answer: impl Fn(&Face, Q) -> Result<T, Problem> + 'static,
) -> Route {
    let face = Rc::clone(face);
    Route::get(path, Who::User, move |asked| answer(&face, asked))
}

fn post<T: serde::Serialize + 'static>(
    face: &Rc<Face>,
    path: &'static str,
    who: Who,
    act: impl Fn(&Face) -> Result<T, Problem> + 'static,
) -> Route {
    let face = Rc::clone(face);
    Route::new(Method::POST, path, who, move |_: Asked| act(&face))
}

/// Piece by piece: a full table is some 100 MB of JSON.
fn flows(face: &Rc<Face>) -> Route {
    let face = Rc::clone(face);
    let answer = move |asked: Asked<FlowFilter>| {
        let (selection, bridged) = (face.select(&asked.query), face.bridged(&asked.query));
        let face = Rc::clone(&face);
        Ok(selection.answer(&bridged, move |id| face.flow(id)))
    };
    Route::raw(Method::GET, "/v1/flows", Who::User, answer)
}

/// From the history's own thread.
fn history(face: &Rc<Face>) -> Route {
    let face = Rc::clone(face);
    Route::later(
        Method::GET,
        "/v1/history",
        Who::User,
        move |asked: Asked<_, Nothing>| face.history(&asked.query),
    )
}

/// Lasts as long as its client listens. Packets are root's to see.
fn begin_capture(face: &Rc<Face>) -> Route {
    let face = Rc::clone(face);
    let answer = move |asked: Asked<CaptureQuery>| {
        let drain = face.capture(&asked.query)?;
        Ok(streamed(
            "application/x-pcapng",
            drain,
            capture::SUMMARY_TRAILER,
        ))
    };
    Route::raw(Method::POST, "/v1/capture", Who::Root, answer)
}
