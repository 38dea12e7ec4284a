//! Removes invisible points of a line.

use super::ink::Path;

/// Appends points to a path; `begins`: as a new part.
pub(super) fn follow(path: &mut Path, points: &[(f64, f64)], begins: bool) {
    for (at, (x, y)) in points.iter().enumerate() {
        if begins && at == 0 {
            path.begin(*x, *y);
        } else {
            path.line(*x, *y);
        }
    }
}

/// Removes points that would be invisible.
pub(super) fn thin(points: &[(f64, f64)], coarse: u32) -> Vec<(f64, f64)> {
    let mut some = Vec::with_capacity(points.len());
    if coarse == 0 {
        some.extend_from_slice(points);
    } else {
        let wide = f64::from(1u32 << coarse);
        let column = |point: &(f64, f64)| (point.0 / wide).floor();
        for group in points.chunk_by(|one, other| column(one) == column(other)) {
            let by = |one: &&(f64, f64), other: &&(f64, f64)| one.1.total_cmp(&other.1);
            let (Some(low), Some(high)) = (group.iter().min_by(by), group.iter().max_by(by)) else {
                continue;
            };
            some.push(if low.0 <= high.0 { *low } else { *high });
            if low.0 != high.0 {
                some.push(if low.0 <= high.0 { *high } else { *low });
            }
        }
        // The ends of a run stay.
        if let (Some(first), Some(last)) = (points.first(), points.last()) {
            some.retain(|point| point != first && point != last);
            some.insert(0, *first);
            some.push(*last);
        }
    }
    let mut kept: Vec<(f64, f64)> = Vec::with_capacity(some.len());
    for (at, point) in some.iter().enumerate() {
        if let (Some(last), Some(next)) = (kept.last(), some.get(at + 1)) {
            let wide = next.0 - last.0;
            let between = last.1 + (next.1 - last.1) * (point.0 - last.0) / wide.max(1e-9);
            if (point.1 - between).abs() < 0.05 {
                continue;
            }
        }
        kept.push(*point);
    }
    kept
}
