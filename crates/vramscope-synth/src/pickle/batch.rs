//! Groups the items of a container: the picklers differ in this.

use std::io::Write;

use super::{Pickler, ShareId, op};

/// The number of list items or dict entries after which CPython closes a batch.
const BATCH: usize = 1000;

/// A list under construction, see [`Pickler::begin_list`].
#[derive(Debug)]
pub struct OpenList {
    pub(super) batches: Batches,
    pub(super) share: Option<ShareId>,
    pub(super) written: usize,
}

/// The grouping of one container's items.
#[derive(Debug)]
pub(super) struct Batches {
    rule: Rule,
    pub(super) length: usize,
    single: u8,
    many: u8,
    is_dict: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rule {
    /// Protocol 0: every item is set by itself.
    EachAlone,
    /// CPython: a lone item is set by itself, others in batches of 1000.
    Batched,
    /// C++: everything between one MARK and one closing opcode, even nothing.
    Whole,
}

impl Batches {
    pub(super) fn new<W: Write>(
        p: &mut Pickler<W>,
        length: usize,
        [single, many]: [u8; 2],
        is_dict: bool,
    ) -> Self {
        let rule = match (p.is_cpp(), p.protocol) {
            (true, _) => Rule::Whole,
            (false, 0) => Rule::EachAlone,
            (false, _) => Rule::Batched,
        };
        if rule == Rule::Whole {
            p.out.put(&[op::MARK]);
        }
        Self {
            rule,
            length,
            single,
            many,
            is_dict,
        }
    }

    #[inline]
    pub(super) fn before<W: Write>(&self, p: &mut Pickler<W>, index: usize) {
        if self.rule == Rule::Batched && self.length > 1 && index.is_multiple_of(BATCH) {
            if index > 0 {
                p.out.put(&[self.many]);
            }
            p.out.put(&[op::MARK]);
        }
    }

    #[inline]
    pub(super) fn after<W: Write>(&self, p: &mut Pickler<W>) {
        if self.rule == Rule::EachAlone {
            p.out.put(&[self.single]);
        }
    }

    pub(super) fn end<W: Write>(&self, p: &mut Pickler<W>) {
        match self.rule {
            Rule::EachAlone => {}
            Rule::Whole => p.out.put(&[self.many]),
            Rule::Batched if self.length == 0 => {}
            Rule::Batched if self.length == 1 => p.out.put(&[self.single]),
            Rule::Batched => {
                p.out.put(&[self.many]);
                // CPython looks for a further batch of a dict after every full one, and closes
                // the empty one it finds.
                if self.is_dict && self.length.is_multiple_of(BATCH) {
                    p.out.put(&[op::MARK, self.many]);
                }
            }
        }
    }
}
