//! Recovers a node's own dependencies. The export lists only the buffers that must live for it.
//!
//! An update in place gives a buffer a second name of size 0. A reader of the updated buffer depends on the second
//! name only, but both names must live for it, and the export lists both. So a dependency is dropped if the node also
//! reads a buffer of size 0 whose node reads that dependency itself. With this rule, all real exports that were tried
//! give PyTorch's own depth-first order.

/// Steps after which the rule is given up: more than any genuine graph needs.
const MOST_WORK: usize = 200_000_000;

/// Per node, the nodes that wrote its unmet dependencies, and whether the rule could be applied to all nodes. Inputs
/// are the rows of the buffers that each node `reads`, the node that writes each row, and whether a row has size 0.
pub(super) fn recover(
    reads: &[Vec<u32>],
    owner: &[Option<u32>],
    is_empty: &dyn Fn(u32) -> bool,
) -> (Vec<Vec<u32>>, bool) {
    let mut work = 0;
    let mut hidden = Hidden::new(owner.len());
    let mut unmet = Vec::with_capacity(reads.len());
    for (n, rows) in (0u32..).zip(reads) {
        let writer = |row: u32| owner[row as usize].filter(|&writer| writer != n);
        hidden.clear();
        for &update in rows.iter().filter(|&&row| is_empty(row)) {
            let Some(writer) = writer(update) else {
                continue;
            };
            let behind = &reads[writer as usize];
            work += behind.len();
            if work > MOST_WORK {
                break;
            }
            behind.iter().for_each(|&row| hidden.add(row, update));
        }
        let real = rows.iter().filter(|&&row| !hidden.contains(row));
        unmet.push(real.filter_map(|&row| writer(row)).collect());
    }
    (unmet, work <= MOST_WORK)
}

/// The dependencies of one node that are hidden behind updates.
struct Hidden {
    /// Per row: the list that it belongs to.
    list: Vec<u32>,
    lists: u32,
}

impl Hidden {
    fn new(rows: usize) -> Self {
        Self {
            list: vec![0; rows],
            lists: 0,
        }
    }

    fn clear(&mut self) {
        self.lists += 1;
    }

    /// Marks a row as hidden by an update. An update does not hide itself.
    fn add(&mut self, row: u32, update: u32) {
        if row != update {
            self.list[row as usize] = self.lists;
        }
    }

    fn contains(&self, row: u32) -> bool {
        self.list[row as usize] == self.lists
    }
}
