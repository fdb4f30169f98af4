//! Finds room for a text in bands.
//!
//! A band moves up and down whenever memory below it is allocated or freed, so its room is a rectangle of pixels that all
//! belong to it. It is found in the ids of a drawn frame and therefore agrees with the picture. Every column is examined,
//! but only a few lines of pixels: a band covers a contiguous part of each column.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Bands, Frame, NONE};
use crate::bitset::BitSet;
use vramscope_core::sorting::SortFew;

/// Lines of pixels that are examined within the least height.
const LINES: u32 = 4;

/// A rectangle of a frame that belongs to one band, device px.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct BandRoom {
    /// The band's row.
    pub row: u32,
    /// First column, and the column after the last.
    pub x_px: (u32, u32),
    /// First line from the top, and the line after the last.
    pub y_px: (u32, u32),
}

/// Sizes of texts, device px.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextSizes {
    /// Width and height that the smallest text needs.
    pub least_px: (u32, u32),
    /// Width and height beyond which a text gains nothing.
    pub most_px: (u32, u32),
}

impl BandRoom {
    /// The best room of each band that has any, largest first, at most `most`. Dimmed bands, and the pending part of bands,
    /// have none.
    #[must_use]
    pub fn all(
        frame: &Frame,
        bands: &Bands<'_>,
        matches: Option<&BitSet>,
        sizes: TextSizes,
        most: usize,
    ) -> Vec<Self> {
        let mut search = Search {
            frame,
            sizes,
            step_px: (sizes.least_px.1 / LINES).max(1),
            best: BTreeMap::new(),
        };
        let is_legible = |row: u32, moment: u32| {
            let of = row as usize;
            of < bands.rows()
                && moment < bands.free_requested[of]
                && matches.is_none_or(|matches| matches.contains(of))
        };
        // Per column, the band in the line examined last, and the number of lines since it began.
        let mut columns = vec![(NONE, 0_u32); frame.width_px as usize];
        for y_px in (0..frame.height_px).step_by(search.step_px as usize) {
            let ids = line(frame, y_px).iter().zip(&frame.column_moment);
            for ((row, lines), (&id, &moment)) in columns.iter_mut().zip(ids) {
                // Whether a row is legible in a column is the same in all lines.
                if id == *row {
                    *lines += 1;
                    continue;
                }
                *row = if is_legible(id, moment) { id } else { NONE };
                *lines = 1;
            }
            let mut left_px = 0;
            for run in columns.chunk_by(|a, b| a.0 == b.0) {
                if run[0].0 != NONE && run.len() as u32 >= sizes.least_px.0 {
                    search.rectangles(run, left_px, y_px);
                }
                left_px += run.len() as u32;
            }
        }
        let mut rooms: Vec<(Worth, Self)> = search.best.into_values().collect();
        rooms.sort_few_by_key(|(worth, room)| (std::cmp::Reverse(*worth), room.row));
        let largest = rooms.into_iter().take(most);
        largest
            .map(|(_, room)| room.grown(frame, frame.height_px))
            .collect()
    }

    fn width_px(&self) -> u32 {
        self.x_px.1 - self.x_px.0
    }

    fn height_px(&self) -> u32 {
        self.y_px.1 - self.y_px.0
    }

    /// The room extended by up to `most` lines above and below that belong to the band, too.
    fn grown(mut self, frame: &Frame, most: u32) -> Self {
        let is_own = |y_px: u32| {
            let line = &line(frame, y_px)[self.x_px.0 as usize..self.x_px.1 as usize];
            line.iter().all(|&id| id == self.row)
        };
        let first_px = self.y_px.0.saturating_sub(most);
        let end_px = self.y_px.1.saturating_add(most).min(frame.height_px);
        while self.y_px.0 > first_px && is_own(self.y_px.0 - 1) {
            self.y_px.0 -= 1;
        }
        while self.y_px.1 < end_px && is_own(self.y_px.1) {
            self.y_px.1 += 1;
        }
        self
    }
}

fn line(frame: &Frame, y_px: u32) -> &[u32] {
    let width = frame.width_px as usize;
    &frame.ids[y_px as usize * width..][..width]
}

/// The value of a room: the area that a text can use, then the whole area.
type Worth = (u64, u64);

struct Search<'a> {
    frame: &'a Frame,
    sizes: TextSizes,
    step_px: u32,
    /// The best room of each row so far.
    best: BTreeMap<u32, (Worth, BandRoom)>,
}

impl Search<'_> {
    /// Considers all largest rectangles that end in line `y_px` within a run of columns of one band. `run` has the number of
    /// lines that the band covers in each.
    fn rectangles(&mut self, run: &[(u32, u32)], left_px: u32, y_px: u32) {
        // Rectangles that may extend to the right: first column and number of lines, in ascending order of lines.
        let mut open: Vec<(u32, u32)> = Vec::new();
        let ends = run.iter().map(|&(_, lines)| lines).chain([0]);
        for (x_px, lines) in (left_px..).zip(ends) {
            let mut from_px = x_px;
            while let Some(&(start_px, covered)) = open.last()
                && covered > lines
            {
                open.pop();
                from_px = start_px;
                let rise_px = (covered - 1) * self.step_px;
                self.consider(BandRoom {
                    row: run[0].0,
                    x_px: (start_px, x_px),
                    y_px: (y_px - rise_px, y_px + 1),
                });
            }
            // A rectangle of this height continues.
            if open.last().is_none_or(|&(_, covered)| covered < lines) {
                open.push((from_px, lines));
            }
        }
    }

    fn consider(&mut self, mut room: BandRoom) {
        let TextSizes { least_px, most_px } = self.sizes;
        if room.width_px() < least_px.0 {
            return;
        }
        if room.height_px() < least_px.1 {
            // The lines between those examined may belong to the band too. Lines further away belong to a room that is found
            // later: searching them here would cost the band's area for each corner of its edge.
            let between_px = self.step_px - 1;
            if room.height_px() + 2 * between_px < least_px.1 {
                return;
            }
            room = room.grown(self.frame, between_px);
        }
        let (width, height) = (room.width_px(), room.height_px());
        if height < least_px.1 {
            return;
        }
        let area = |width: u32, height: u32| u64::from(width) * u64::from(height);
        let usable = area(width.min(most_px.0), height.min(most_px.1));
        let worth = (usable, area(width, height));
        let best = self.best.entry(room.row).or_default();
        if worth > best.0 {
            *best = (worth, room);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Totals;
    use super::*;
    use crate::raster::{BLEND, NEVER};
    use proptest::prelude::*;

    fn frame(picture: &[&str]) -> Frame {
        let id = |letter: u8| match letter {
            b'.' => NONE,
            b'?' => BLEND,
            letter => u32::from(letter - b'a'),
        };
        let width = picture[0].len() as u32;
        Frame {
            width_px: width,
            height_px: picture.len() as u32,
            ids: picture
                .iter()
                .flat_map(|line| line.bytes().map(id))
                .collect(),
            column_moment: (0..width).collect(),
            ..Frame::default()
        }
    }

    fn rooms(
        frame: &Frame,
        free_requested: &[u32],
        matches: Option<&BitSet>,
        least: u32,
    ) -> Vec<BandRoom> {
        let sizes = TextSizes {
            least_px: (3, least),
            most_px: (6, least + 2),
        };
        let rows = free_requested.len();
        let bands = Bands {
            born: &vec![0; rows],
            died: &vec![NEVER; rows],
            free_requested,
            bytes: &vec![1; rows],
            total_bytes: Totals::Each(&[]),
            moment_start_us: None,
        };
        BandRoom::all(frame, &bands, matches, sizes, 9)
    }

    fn room(row: u32, x_px: (u32, u32), y_px: (u32, u32)) -> BandRoom {
        BandRoom { row, x_px, y_px }
    }

    #[test]
    fn a_band_has_room_where_it_lies_still() {
        let picture = [
            "....bbbb....",
            "bbbbbbbbbbbb",
            "bbbbbbbbbbbb",
            "bbbb?aaabbbb",
            "bbbbaaaabbbb",
            "aaaaaaaaaaaa",
            "aaaaaaaaaaaa",
        ];
        let frame = frame(&picture);
        let never = [NEVER; 2];
        let found = rooms(&frame, &never, None, 4);
        assert_eq!(found, [room(1, (0, 4), (1, 5)), room(0, (5, 8), (3, 7))]);
        let only_b = BitSet::from_fn(2, |row| row == 1);
        assert_eq!(rooms(&frame, &never, Some(&only_b), 4), found[..1]);
        // One is striped entirely, the other almost entirely.
        assert_eq!(rooms(&frame, &[0, 1], None, 4), []);
    }

    proptest! {
        #[test]
        fn a_room_is_all_its_bands_and_no_band_has_more(
            heights in prop::collection::vec((0_usize..12, 0_usize..14), 1..24),
            pending in 0_u32..30,
            least in 1_u32..11,
        ) {
            let lines = 20;
            let id = |line: usize, (low, high): (usize, usize)| {
                let from_below = lines - 1 - line;
                match from_below {
                    at if at < low => 0,
                    at if at < low + high => 1,
                    _ => NONE,
                }
            };
            let frame = Frame {
                width_px: heights.len() as u32,
                height_px: lines as u32,
                ids: (0..lines).flat_map(|line| heights.iter().map(move |&of| id(line, of))).collect(),
                column_moment: (0..heights.len() as u32).collect(),
                ..Frame::default()
            };
            let found = rooms(&frame, &[NEVER, pending], None, least);
            for room in &found {
                for y in room.y_px.0..room.y_px.1 {
                    for x in room.x_px.0..room.x_px.1 {
                        prop_assert_eq!(line(&frame, y)[x as usize], room.row);
                        prop_assert!(room.row == 0 || x < pending);
                    }
                }
                prop_assert!(room.width_px() >= 3 && room.height_px() >= least);
            }
            if least >= 2 * LINES {
                // Not every line is examined, so slightly less may be found.
                return Ok(());
            }
            // The lower edge of the band is constant, so the best room is easily found by trying all tops.
            let tops: Vec<usize> = heights.iter().map(|of| of.0).collect();
            let usable = |width: usize, height: usize| width.min(6) * height.min(least as usize + 2);
            let columns = (0..tops.len()).flat_map(|from| (from + 3..=tops.len()).map(move |to| (from, to)));
            let rooms = columns.map(|(from, to)| (to - from, *tops[from..to].iter().min().unwrap()));
            let high = rooms.filter(|room| room.1 >= least as usize);
            let best = high.map(|(width, height)| usable(width, height)).max();
            let own = found.iter().find(|room| room.row == 0);
            prop_assert_eq!(own.map(|own| usable(own.width_px() as usize, own.height_px() as usize)), best);
        }
    }
}
