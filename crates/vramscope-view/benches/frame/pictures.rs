//! The time to draw everything that a frame of the page shows of generated snapshots.

use std::time::Instant;

use vramscope_core::analysis::memory::private_pools::private_pools;
use vramscope_core::analysis::properties::Property;
use vramscope_core::analysis::recording::{Device, Recording};
use vramscope_core::ids::AllocationId;
use vramscope_synth::snapshot::{Producer, WriteOptions};
use vramscope_synth::{scenario, training};
use vramscope_view::band_labels::{BandLabels, BandNames, DrawnBands};
use vramscope_view::colour::Leaders;
use vramscope_view::decorations::{Decorations, Sources};
use vramscope_view::groups::Groups;
use vramscope_view::map::{Lanes, MapLabels, MapRaster, MemoryMap};
use vramscope_view::minimap::Minimap;
use vramscope_view::raster::{Bands, Frame, Paint, TimelineIndex, TimelineRaster};
use vramscope_view::segment_bands::SegmentBands;
use vramscope_view::theme::Theme;
use vramscope_view::viewport::{Bounds, Viewport};

/// Sizes of a picture, device px: a laptop's, and the whole of a 4K screen.
const SIZES_PX: [(u32, u32); 2] = [(1_500, 900), (3_840, 2_160)];
/// A picture is drawn at least this often, and for at least this long.
const LEAST_FRAMES: usize = 7;
const LEAST_MS: f64 = 300.0;

/// The snapshots: two ordinary ones, and those that are hard to draw.
pub(crate) fn measure_all(is_wanted: impl Fn(&str) -> bool) {
    println!(
        "{:<40} {:>24} {:>24} {:>24}",
        "best | median | 95 %, ms", "whole", "1/10", "1/100"
    );
    for (name, events) in [("training-100k", 100_000), ("training-1M", 1_000_000)] {
        let options = training::Options {
            events,
            ..training::Options::default()
        };
        case(name, &is_wanted, || {
            training::write(&options, Vec::new()).expect("memory takes any bytes")
        });
    }
    let torture: [scenario::Scenario; 1] = [("torture", |seed| scenario::torture(3_000, seed))];
    for (name, make) in torture.into_iter().chain(scenario::LARGE) {
        let options = WriteOptions::new(Producer::Python(2, 8));
        case(name, &is_wanted, || make(1).to_pickle(&options));
    }
}

fn case(name: &str, is_wanted: &impl Fn(&str) -> bool, file: impl FnOnce() -> Vec<u8>) {
    let pictures = ["timeline", "segments", "map", "around", "labels", "minimap"];
    let wanted = pictures.map(|picture| is_wanted(&format!("{name} {picture}")));
    if !wanted.contains(&true) {
        return;
    }
    let snapshot = vramscope_core::decode(file().as_slice()).expect("a generated file is intact");
    let recording = Recording::by_peak(snapshot);
    let Some(device) = recording.devices().next() else {
        return;
    };
    let case = Case::of(device);
    for (width_px, height_px) in SIZES_PX {
        for (picture, _) in pictures.iter().zip(wanted).filter(|(_, wanted)| *wanted) {
            let times =
                [1.0, 10.0, 100.0].map(|zoom| case.time(picture, (width_px, height_px), zoom));
            let [whole, tenth, hundredth] = times.map(summary);
            let row = format!("{name} {picture} {width_px}×{height_px}");
            println!("{row:<40} {whole:>24} {tenth:>24} {hundredth:>24}");
        }
    }
}

/// A device with everything that is computed only once.
struct Case<'a> {
    device: Device<'a>,
    theme: Theme,
    index: TimelineIndex,
    groups: Groups,
    segments: SegmentBands,
    segment_groups: Groups,
    map: MemoryMap,
    map_labels: (
        Vec<vramscope_view::map::LaneMark>,
        Vec<vramscope_view::map::GroupMark>,
    ),
    pools: Vec<vramscope_core::analysis::memory::private_pools::PoolUse>,
}

impl<'a> Case<'a> {
    fn of(device: Device<'a>) -> Self {
        let (history, segments) = (device.history, device.segments());
        let (theme, leaders) = (Theme::light(), Leaders::of_sites(device.recording));
        let mode = Property::CallSite;
        let sizes = device.block_sizes();
        let held = |row: usize| sizes.bytes(history, AllocationId::from_index(row));
        let lanes = Lanes::new(&history.allocations, segments);
        let map = MemoryMap::new(&history.allocations, segments, lanes, held);
        Self {
            device,
            index: TimelineIndex::new(&Bands::of(history, false)),
            groups: Groups::of(mode, &theme, &leaders, device),
            segments: SegmentBands::of(segments, history),
            segment_groups: Groups::of_segments(mode, &theme, &leaders, device),
            map_labels: map.lanes.marks(segments, device.recording),
            map,
            pools: private_pools(device.snapshot(), history, segments),
            theme,
        }
    }

    /// The times of frames of a picture, ms, ascending.
    fn time(&self, picture: &str, (width_px, height_px): (u32, u32), zoom: f64) -> Vec<f64> {
        let bands = Bands::of(self.device.history, false);
        let reserved = self.segments.bands(self.device.segments(), bands);
        let top_bytes = match picture {
            "segments" => self.segments.index.peak_bytes(),
            "map" => self.map.lanes.y_end() as u64,
            _ => self.index.peak_bytes(),
        };
        let bounds = Bounds::new(bands.x_end(), top_bytes);
        let middle = (f64::from(width_px) / 2.0, f64::from(height_px) / 2.0);
        // The deepest zoom magnifies the height, too.
        let zoom_y = (zoom / 10.0).max(1.0);
        let view = Viewport::fit_all(&bounds, width_px, height_px);
        let view = view.zoomed(zoom, zoom_y, middle, &bounds);
        let colours = match picture {
            "segments" => &self.segment_groups.colours,
            _ => &self.groups.colours,
        };
        let paint = Paint {
            colours,
            matches: None,
            theme: &self.theme,
        };
        let (mut raster, mut map_raster) = (TimelineRaster::new(), MapRaster::new());
        let mut frame = Frame::default();
        match picture {
            "segments" => frames(|| {
                raster.draw(&reserved, &self.segments.index, &view, &paint, &mut frame);
            }),
            "map" => frames(|| {
                map_raster.draw(&self.map, &bands, &view, &paint, &mut frame);
                let (lanes, groups) = &self.map_labels;
                std::hint::black_box(MapLabels::of(lanes, groups, &view));
            }),
            "around" => frames(|| {
                std::hint::black_box(self.around(&bands, &view));
            }),
            "labels" => {
                raster.draw(&bands, &self.index, &view, &paint, &mut frame);
                frames(|| {
                    let drawn = DrawnBands {
                        frame: &frame,
                        view,
                        bands: &bands,
                        paint: &paint,
                    };
                    let names = BandNames {
                        device: self.device,
                        restacked: None,
                    };
                    std::hint::black_box(BandLabels::of(names, &drawn, 1.0));
                })
            }
            "minimap" => frames(|| {
                let steps = &self.device.history.reserved_steps;
                std::hint::black_box(Minimap::new(&bands, &self.index, steps, width_px));
            }),
            _ => frames(|| {
                raster.draw(&bands, &self.index, &view, &paint, &mut frame);
            }),
        }
    }

    fn around(&self, bands: &Bands<'_>, view: &Viewport) -> Decorations {
        let sources = Sources {
            device: self.device,
            bands,
            index: &self.index,
            reserved_steps: &self.device.history.reserved_steps,
            replayed_steps: &[],
            pools: &self.pools,
        };
        Decorations::of(sources, view, 1.0)
    }
}

/// Draws until there are enough frames. Returns their times, ms, ascending; the first is left out.
pub(crate) fn frames(mut draw: impl FnMut()) -> Vec<f64> {
    draw();
    let began = Instant::now();
    let mut times = Vec::new();
    while times.len() < LEAST_FRAMES || began.elapsed().as_secs_f64() * 1e3 < LEAST_MS {
        let started = Instant::now();
        draw();
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    times
}

/// Best, median and 95th percentile.
pub(crate) fn summary(times: Vec<f64>) -> String {
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
    format!("{:.1} | {:.1} | {:.1}", at(0.0), at(0.5), at(0.95))
}
