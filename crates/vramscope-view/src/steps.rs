//! Columns of equal width as a step curve.

/// The corners of a step curve, from left to right. A value applies to the whole width of its column; equal neighbours
/// become one step. `x` maps a column's number to its left edge; it is also called with `values.len()`.
pub(crate) fn steps<X, Y>(
    values: &[u64],
    x: impl Fn(usize) -> X,
    y: impl Fn(u64) -> Y,
) -> Vec<(X, Y)> {
    let mut first = 0;
    let mut corners = Vec::new();
    for run in values.chunk_by(|a, b| a == b) {
        corners.push((x(first), y(run[0])));
        first += run.len();
        corners.push((x(first), y(run[0])));
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_neighbours_are_one_step() {
        let corners = steps(&[7, 7, 2, 7], |column| column * 10, |bytes| bytes + 1);
        let expected = [(0, 8), (20, 8), (20, 3), (30, 3), (30, 8), (40, 8)];
        assert_eq!(corners, expected);
        assert!(steps(&[], |column| column, |bytes| bytes).is_empty());
    }
}
