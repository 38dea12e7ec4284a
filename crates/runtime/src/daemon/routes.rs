//! Routes of the daemon's API, one row each.

use std::rc::Rc;

use answers::FlowFilter;
use api::{AccessLevel, ApiRequest, Method, Problem, Route, Routes};

use super::api_state::ApiState;
use super::module::ApiContext;

/// The table of all that this daemon answers.
pub fn routes(state: &Rc<ApiState>) -> Routes {
    let own = [
        get(state, "/v1/status", |state, ()| Ok(state.status())),
        get(state, "/v1/conditions", |state, ()| Ok(state.conditions())),
        flows(state),
        get(state, "/v1/hops", |state, ()| Ok(state.hops())),
        get(state, "/v1/ports", |state, ()| Ok(state.ports())),
        get(state, "/v1/explain", |state, asked| state.explain(&asked)),
        get(state, "/v1/config", |state, ()| Ok(state.config())),
        post(state, "/v1/reload", AccessLevel::User, ApiState::reload),
    ];
    let modules = state.modules.iter().cloned();
    let face: Rc<dyn ApiContext> = state.clone();
    let of_modules = modules.flat_map(|module| module.routes(&face));
    Routes::new(own.into_iter().chain(of_modules))
}

fn get<Q: api::Query + 'static, T: serde::Serialize + 'static>(
    state: &Rc<ApiState>,
    path: &'static str,
    answer: impl Fn(&ApiState, Q) -> Result<T, Problem> + 'static,
) -> Route {
    let state = Rc::clone(state);
    Route::get(path, AccessLevel::User, move |asked| answer(&state, asked))
}

fn post<T: serde::Serialize + 'static>(
    state: &Rc<ApiState>,
    path: &'static str,
    who: AccessLevel,
    act: impl Fn(&ApiState) -> Result<T, Problem> + 'static,
) -> Route {
    let state = Rc::clone(state);
    Route::new(Method::POST, path, who, move |_: ApiRequest| act(&state))
}

/// Piece by piece: a full table is some 100 MB of JSON.
fn flows(state: &Rc<ApiState>) -> Route {
    let state = Rc::clone(state);
    let answer = move |asked: ApiRequest<FlowFilter>| {
        let (selection, bridged) = (state.select(&asked.query), state.bridged(&asked.query));
        let state = Rc::clone(&state);
        Ok(selection.answer(&bridged, move |id| state.flow(id)))
    };
    Route::raw(Method::GET, "/v1/flows", AccessLevel::User, answer)
}
