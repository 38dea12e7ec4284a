//! Places on a map.

use super::canvas::{Anchor, Area, Canvas, Drawn, overlap};
use super::colour::Paint;
use super::ink::{Path, length, named};
use super::letters::{fit, width};
use super::number::{number, sane};
use super::outline::{EAST, NORTH, Projection, SOUTH, WEST};
use super::view::{Place, View, item, view};
use super::{colour, frame, heat};
use crate::figure::Point;
use crate::text::Language;

/// Places that are drawn: the largest.
const PLACES: usize = 400;

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas, points: &[Point], most: Option<f64>) -> Drawn {
    let heat = most.is_some();
    let projection = projection(points);
    let place = |point| place(point, projection);
    let mut places: Vec<Place> = points.iter().filter_map(place).collect();
    places.sort_by(|one, other| other.value.total_cmp(&one.value));
    let (inner, area) = frame(canvas, &places, points.len(), heat, projection);
    let view = view(&places, area, projection);
    places.retain(|place| view.shows(place.at));
    let corner = if area.left > 0.0 && heat {
        (area.left, area.bottom + heat::LEGEND)
    } else {
        (inner.left, inner.bottom)
    };
    let largest = places.first().map_or(0.0, |place| place.value);
    let gist = if places.is_empty() {
        canvas.nothing(area)
    } else {
        match most {
            Some(most) => heat::draw(canvas, &view, &places, corner, most),
            None => circles(canvas, &view, &places[..places.len().min(PLACES)], corner),
        }
        gist(canvas, &places)
    };
    Drawn {
        area,
        least: 0.0,
        most: largest,
        gist,
        ..Drawn::default()
    }
}

/// Draws land and frame. In a wide picture the map fills the picture, with the title on it. Returns
/// the areas left by title and notes, and of the map.
fn frame(
    canvas: &mut Canvas,
    places: &[Place],
    count: usize,
    heat: bool,
    projection: Projection,
) -> (Area, Area) {
    let view = |area| view(places, area, projection);
    let whole = Area {
        left: 0.0,
        right: canvas.width,
        top: 0.0,
        bottom: canvas.height,
    };
    let wide = canvas.width > canvas.height * 1.4;
    let of = |inner: Area| match (wide, heat) {
        (true, _) => whole,
        (false, false) => inner,
        (false, true) => Area {
            bottom: (inner.bottom - heat::LEGEND).max(inner.top + 20.0),
            ..inner
        },
    };
    // The note on places outside needs room and thus changes the map: a first attempt, which is
    // discarded, counts them.
    let before = canvas.ink.0.len();
    canvas.notes.push(outside(canvas.language, count));
    let tried = of(frame::draw(canvas, &[]));
    canvas.ink.0.truncate(before);
    canvas.notes.pop();
    let tried = view(tried);
    let left = count - places.iter().filter(|place| tried.shows(place.at)).count();
    if left > 0 {
        canvas.notes.push(outside(canvas.language, left));
    }
    if wide {
        ground(canvas, &view(whole));
        return (frame::draw(canvas, &[]), whole);
    }
    let inner = frame::draw(canvas, &[]);
    ground(canvas, &view(of(inner)));
    (inner, of(inner))
}

fn outside(language: Language, count: usize) -> String {
    match language {
        Language::English => format!("Not on the map: {count}."),
        Language::German => format!("Nicht auf der Karte: {count}."),
    }
}

fn place(point: &Point, projection: Projection) -> Option<Place<'_>> {
    let inside = match projection {
        Projection::Europe => in_europe(point),
        Projection::World(_) => on_earth(point),
    };
    let value = sane(point.value).filter(|value| *value >= 0.0)?;
    inside.then(|| Place {
        point,
        value,
        at: projection.flat((point.latitude, point.longitude)),
    })
}

fn in_europe(point: &Point) -> bool {
    (SOUTH..=NORTH).contains(&point.latitude) && (WEST..=EAST).contains(&point.longitude)
}

fn on_earth(point: &Point) -> bool {
    point.latitude.abs() <= 90.0 && point.longitude.abs() <= 180.0
}

/// Returns Europe's projection, if all but one place in twelve are there; otherwise the world's,
/// undistorted at about half of the places. Rounded, for stability from month to month.
fn projection(points: &[Point]) -> Projection {
    const STEP: f64 = 15.0;
    let earth = || points.iter().filter(|point| on_earth(point));
    if earth().filter(|point| in_europe(point)).count() * 12 >= earth().count() * 11 {
        return Projection::Europe;
    }
    let mut north: Vec<f64> = earth().map(|point| point.latitude.abs()).collect();
    north.sort_by(f64::total_cmp);
    let middle = north.get(north.len() / 2).copied().unwrap_or(0.0);
    Projection::World((middle / STEP).round().min(4.0) * STEP)
}

/// Draws land, and borders on it.
fn ground(canvas: &mut Canvas, view: &View) {
    let mut land = Path::default();
    let projection = view.projection;
    for ring in &projection.outline().land {
        let ring: Vec<_> = (ring.iter())
            .map(|at| view.at(projection.flat(*at)))
            .collect();
        let ring = sparse(&clip(&ring, &view.area));
        if ring.len() < 3 {
            continue;
        }
        for (nth, (x, y)) in ring.iter().enumerate() {
            if nth == 0 {
                land.begin(*x, *y)
            } else {
                land.line(*x, *y)
            }
        }
        land.close();
    }
    let mut borders = Path::default();
    for line in &projection.outline().borders {
        let line: Vec<_> = (line.iter())
            .map(|at| view.at(projection.flat(*at)))
            .collect();
        let line = sparse(&line);
        let mut on = false;
        for pair in line.windows(2) {
            let Some((from, to)) = cut(pair[0], pair[1], &view.area) else {
                on = false;
                continue;
            };
            if !on {
                borders.begin(from.0, from.1);
            }
            borders.line(to.0, to.1);
            on = to == pair[1];
        }
    }
    let (fill, stroke) = (
        canvas.fill("", Paint::Land),
        canvas.stroke("", Paint::Border),
    );
    canvas.ink.put(format_args!(
        "<g class=\"ground\" aria-hidden=\"true\"><path d=\"{}\"{fill}/>\
         <path d=\"{}\" fill=\"none\"{stroke} stroke-linejoin=\"round\"/></g>",
        land.text(),
        borders.text()
    ));
}

/// Leaves out points that are nearer than a pixel to the last.
fn sparse(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (at, (x, y)) in points.iter().enumerate() {
        let far = |last: &(f64, f64)| (x - last.0).hypot(y - last.1) >= 1.0;
        if at + 1 == points.len() || kept.last().is_none_or(far) {
            kept.push((*x, *y));
        }
    }
    kept
}

/// Returns the part of a polygon within a rectangle (Sutherland and Hodgman).
fn clip(ring: &[(f64, f64)], area: &Area) -> Vec<(f64, f64)> {
    // Distance of a point to each edge, positive inside.
    let edges: [&dyn Fn((f64, f64)) -> f64; 4] = [
        &|at| at.0 - area.left,
        &|at| area.right - at.0,
        &|at| at.1 - area.top,
        &|at| area.bottom - at.1,
    ];
    let mut ring = ring.to_vec();
    for edge in edges {
        let mut cut = Vec::with_capacity(ring.len());
        for (at, point) in ring.iter().enumerate() {
            let next = ring[(at + 1) % ring.len()];
            let (here, there) = (edge(*point), edge(next));
            if here >= 0.0 {
                cut.push(*point);
            }
            if (here >= 0.0) != (there >= 0.0) {
                let part = here / (here - there);
                cut.push((
                    point.0 + (next.0 - point.0) * part,
                    point.1 + (next.1 - point.1) * part,
                ));
            }
        }
        ring = cut;
    }
    ring
}

/// Returns the part of a line within a rectangle (Liang and Barsky).
fn cut(from: (f64, f64), to: (f64, f64), area: &Area) -> Option<((f64, f64), (f64, f64))> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (mut first, mut last) = (0f64, 1f64);
    for (by, room) in [
        (-dx, from.0 - area.left),
        (dx, area.right - from.0),
        (-dy, from.1 - area.top),
        (dy, area.bottom - from.1),
    ] {
        if by == 0.0 {
            if room < 0.0 {
                return None;
            }
        } else if by < 0.0 {
            first = first.max(room / by);
        } else {
            last = last.min(room / by);
        }
    }
    let at = |part: f64| (from.0 + dx * part, from.1 + dy * part);
    let end = if last >= 1.0 { to } else { at(last) };
    (first <= last).then(|| (at(first), end))
}

/// Draws a circle for each place, sized by its value.
fn circles(canvas: &mut Canvas, view: &View, places: &[Place], corner: (f64, f64)) {
    let most = places.first().map_or(1.0, |place| place.value).max(1.0);
    let largest = (view.area.width().min(view.area.height()) * 0.075).clamp(8.0, 40.0);
    let radius = |value: f64| (largest * (value / most).sqrt()).max(1.5);
    let both = colour::paint(canvas.theme, "", Some(Paint::Part(0)), Some(Paint::Part(0)));
    canvas
        .ink
        .put(format_args!("<g fill-opacity=\".4\"{both}>"));
    for place in places {
        let (x, y) = view.at(place.at);
        item(canvas, place, x, y, radius(place.value));
    }
    canvas.ink.0.push_str("</g>");
    names(canvas, view, places, &radius);
    sizes(canvas, corner, most, &radius);
}

/// Draws the names of the largest places, where they fit.
fn names(canvas: &mut Canvas, view: &View, places: &[Place], radius: &dyn Fn(f64) -> f64) {
    const SIZE: f64 = 12.0;
    let most = if canvas.narrow() { 4 } else { 10 };
    let mut taken: Vec<(Area, String)> = Vec::new();
    for place in places.iter().take(most * 2) {
        let text = fit(named(&place.point.name, &place.point.key), SIZE, 170.0);
        let (half, (x, y)) = (width(&text, SIZE) / 2.0 + 2.0, view.at(place.at));
        let below = y + radius(place.value) + 13.0;
        let area = Area {
            left: x - half,
            right: x + half,
            top: below - 11.0,
            bottom: below + 4.0,
        };
        let within = area.left > view.area.left
            && area.right < view.area.right
            && area.bottom < view.area.bottom;
        // A second place of a name would add nothing.
        let free = |(other, name): &(Area, String)| !overlap(&area, other) && *name != text;
        if taken.len() < most && within && taken.iter().all(free) {
            halo(canvas, (x, below), SIZE, &text);
            taken.push((area, text));
        }
    }
}

/// Draws a text that is readable on any background.
fn halo(canvas: &mut Canvas, at: (f64, f64), size: f64, text: &str) {
    let stroke = canvas.stroke("", Paint::Ground);
    canvas.ink.put(format_args!(
        "<g{stroke} stroke-width=\"3\" stroke-linejoin=\"round\" stroke-opacity=\".8\" \
         aria-hidden=\"true\">"
    ));
    canvas.text(at, size, Anchor::Middle, Paint::Text, text);
    canvas.ink.0.push_str("</g>");
    canvas.text(at, size, Anchor::Middle, Paint::Text, text);
}

/// Draws the legend of circle sizes: three circles, one in the other.
fn sizes(canvas: &mut Canvas, corner: (f64, f64), most: f64, radius: &dyn Fn(f64) -> f64) {
    let power = 10f64.powf(most.log10().floor());
    let large = [5.0, 2.0, 1.0]
        .into_iter()
        .map(|by| by * power)
        .find(|value| *value <= most);
    let large = large.unwrap_or(most);
    let x = corner.0 + radius(large) + 4.0;
    let mut free = f64::NEG_INFINITY;
    canvas.ink.0.push_str("<g class=\"legend\">");
    for value in [large, large / 5.0, large / 50.0] {
        let r = radius(value);
        let middle = corner.1 - 6.0 - r;
        let stroke = canvas.stroke("", Paint::Muted);
        canvas.ink.put(format_args!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"none\"{stroke}/>",
            length(x),
            length(middle),
            length(r)
        ));
        let line = (middle - r).max(free);
        free = line + 14.0;
        let right = x + radius(large) + 8.0;
        canvas.ink.put(format_args!(
            "<path d=\"M{} {}L{} {}\"{stroke} stroke-dasharray=\"1 2\"/>",
            length(x),
            length(middle - r),
            length(right),
            length(line)
        ));
        let text = number(value, canvas.language);
        canvas.text(
            (right + 4.0, line + 4.0),
            12.0,
            Anchor::Start,
            Paint::Muted,
            &text,
        );
    }
    canvas.ink.0.push_str("</g>");
}

fn gist(canvas: &Canvas, places: &[Place]) -> String {
    let first: Vec<String> = (places.iter().take(3))
        .map(|place| {
            let number = number(place.value, canvas.language);
            format!("{}: {number}", named(&place.point.name, &place.point.key))
        })
        .collect();
    let (count, first) = (places.len(), first.join(", "));
    match canvas.language {
        Language::English => format!("Places: {count}. The largest: {first}."),
        Language::German => format!("Orte: {count}. Die größten: {first}."),
    }
}
