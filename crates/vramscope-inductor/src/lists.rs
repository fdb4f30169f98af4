//! Many short lists in two columns.

/// One list of numbers per row, all in one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lists {
    /// The start of each row's list in `items`, and the end of the last list.
    starts: Vec<usize>,
    items: Vec<u32>,
}

impl Default for Lists {
    fn default() -> Self {
        Self {
            starts: vec![0],
            items: Vec::new(),
        }
    }
}

impl Lists {
    /// The list of a row; empty beyond the last row.
    #[must_use]
    pub fn get(&self, row: usize) -> &[u32] {
        match (self.starts.get(row), self.starts.get(row + 1)) {
            (Some(&from), Some(&to)) => &self.items[from..to],
            _ => &[],
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of items in all lists together.
    pub(super) fn items(&self) -> usize {
        self.items.len()
    }

    /// The lists of all rows in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len()).map(|row| self.get(row))
    }

    pub(super) fn push(&mut self, list: impl IntoIterator<Item = u32>) {
        self.items.extend(list);
        self.starts.push(self.items.len());
    }

    /// For each number below `rows`, the rows of `self` that contain it, ascending.
    pub(super) fn inverse(&self, rows: usize) -> Self {
        let mut starts = vec![0; rows + 1];
        for &item in &self.items {
            starts[item as usize + 1] += 1;
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut items = vec![0; self.items.len()];
        for (row, list) in self.iter().enumerate() {
            for &item in list {
                let place = &mut next[item as usize];
                items[*place] = row as u32;
                *place += 1;
            }
        }
        Self { starts, items }
    }
}

/// Recognises repeated items, for one list after another.
pub(super) struct Seen(Vec<u32>);

impl Seen {
    /// For numbers below `len`.
    pub(super) fn new(len: usize) -> Self {
        Self(vec![u32::MAX; len])
    }

    /// Whether this is the first occurrence of `item` in a list. `list` is the list's number, below `u32::MAX`.
    pub(super) fn is_new(&mut self, list: u32, item: u32) -> bool {
        std::mem::replace(&mut self.0[item as usize], list) != list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_lists_rows_in_order() {
        let mut lists = Lists::default();
        lists.push([2, 0]);
        lists.push([]);
        lists.push([0]);
        assert_eq!(lists.iter().collect::<Vec<_>>(), [&[2, 0][..], &[], &[0]]);
        let inverse = lists.inverse(3);
        assert_eq!(inverse.iter().collect::<Vec<_>>(), [&[0, 2][..], &[], &[0]]);
        assert_eq!(lists.get(7), &[0; 0]);
    }
}
