//! What can be asked of the daemon, row by row.

use std::rc::Rc;

use answers::FlowFilter;
use api::{Asked, Method, Problem, Route, Routes, Who};

use super::face::Face;

/// The table of all that this daemon answers.
pub fn routes(face: &Rc<Face>) -> Routes {
    let own = [
        get(face, "/v1/status", |face, ()| Ok(face.status())),
        get(face, "/v1/conditions", |face, ()| Ok(face.conditions())),
        flows(face),
        get(face, "/v1/hops", |face, ()| Ok(face.hops())),
        get(face, "/v1/ports", |face, ()| Ok(face.ports())),
        get(face, "/v1/explain", |face, asked| face.explain(&asked)),
        get(face, "/v1/config", |face, ()| Ok(face.config())),
        post(face, "/v1/reload", Who::User, Face::reload),
    ];
    let modules = face.modules.iter().cloned();
    let of_modules = modules.flat_map(|module| module.routes(face));
    Routes::new(own.into_iter().chain(of_modules))
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
