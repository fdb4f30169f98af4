//! The frame that all pictures share, in every size.

use super::*;
use crate::colour::ColourColumn;
use crate::raster::{Bands, NEVER, TimelineIndex, Totals};
use proptest::prelude::*;

fn with_plot<T>(lines: &[LegendLine], check: impl FnOnce(&Plot<'_, OverTime<'_>>) -> T) -> T {
    let bands = Bands {
        born: &[0, 2],
        died: &[NEVER, 5],
        free_requested: &[NEVER, 4],
        bytes: &[1 << 30, 2 << 30],
        total_bytes: Totals::Each(&[1 << 30, 1 << 30, 3 << 30, 3 << 30, 3 << 30, 1 << 30]),
        moment_start_us: None,
    };
    let index = TimelineIndex::new(&bands);
    let colours = ColourColumn::by_hash(&Theme::light(), [Some(1), Some(2)]);
    let content = OverTime {
        stack: Stack::Bands(&index),
        bands: &bands,
        colours: &colours,
        matches: None,
        names: None,
        x: None,
        y_bytes: None,
        around: None,
        capacity_bytes: Some(4 << 30),
        is_folded: false,
    };
    check(&Plot {
        title: "tiny <file>",
        subtitle: "device 0",
        note: "",
        legend: Legend {
            title: "live at the peak",
            lines,
        },
        content,
    })
}

fn style(theme: &Theme) -> PlotStyle<'_> {
    PlotStyle {
        width_px: 640,
        height_px: 360,
        pixel_ratio: 1.0,
        theme,
    }
}

fn line(label: &str) -> LegendLine {
    LegendLine {
        rgb: [1, 2, 3],
        label: label.to_owned(),
        bytes: Some(1 << 30),
    }
}

#[test]
fn texts_of_an_svg_are_as_wide_in_every_font() {
    let theme = Theme::light();
    let svg = |label| with_plot(&[line(label)], |plot| plot.to_svg(&style(&theme))).unwrap();
    let lengths = |label| svg(label).matches("textLength").count();
    assert!(lengths("a.py:1 f") > 2);
    assert_eq!(
        lengths("a.py:1 f"),
        lengths("a.py:1 щ") + 1,
        "where a width is a guess, no text is stretched"
    );
}

#[test]
fn svg_has_text_and_one_image() {
    let theme = Theme::light();
    let svg = with_plot(&[line("a.py:1 f")], |plot| plot.to_svg(&style(&theme))).unwrap();
    for part in [
        "tiny &lt;file&gt;",
        "2 GiB",
        "a.py:1 f",
        "1.00 GiB",
        "live at the peak",
        "capacity 4.00 GiB",
        "data:image/png;base64,",
    ] {
        assert!(svg.contains(part), "{part} is missing");
    }
    assert_eq!(
        (svg.matches("<svg").count(), svg.matches("</svg>").count()),
        (1, 1)
    );
    assert!(svg.trim_end().ends_with("</svg>"));
}

#[cfg(feature = "font")]
#[test]
fn png_reads_back_in_its_size() {
    let theme = Theme::dark();
    let file = with_plot(&[], |plot| plot.to_png(&style(&theme))).unwrap();
    let reader = png::Decoder::new(std::io::Cursor::new(file))
        .read_info()
        .unwrap();
    assert_eq!((reader.info().width, reader.info().height), (640, 360));
}

#[test]
fn what_has_no_line_in_the_legend_is_summed_up() {
    let theme = Theme::light();
    let lines: Vec<LegendLine> = (0..40).map(|i| line(&format!("a.py:{i} f"))).collect();
    let svg = with_plot(&lines, |plot| plot.to_svg(&style(&theme))).unwrap();
    // One column of five lines: four sites and the rest.
    assert!(
        svg.contains("a.py:3 f") && !svg.contains("a.py:4 f"),
        "{svg}"
    );
    assert!(svg.contains("36 further") && svg.contains("36.0 GiB"));
}

#[test]
fn sizes_out_of_range_are_refused() {
    let theme = Theme::light();
    for (width_px, height_px, pixel_ratio) in [
        (0, 0, 1.0),
        (239, 500, 1.0),
        (1_000, 159, 1.0),
        (40_000, 500, 1.0),
        (479, 500, 2.0),
        (500, 500, 0.0),
    ] {
        let style = PlotStyle {
            width_px,
            height_px,
            pixel_ratio,
            ..style(&theme)
        };
        assert!(with_plot(&[], |plot| plot.to_svg(&style)).is_err());
    }
    let error = with_plot(&[], |plot| {
        plot.to_svg(&PlotStyle {
            width_px: 400,
            pixel_ratio: 2.0,
            ..style(&theme)
        })
    });
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("at least 480 × 320")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_size_can_be_drawn(
        width_px in 240_u32..900, height_px in 160_u32..600, ratio in 1_u8..4, lines in 0_usize..40
    ) {
        let theme = Theme::light();
        let lines: Vec<LegendLine> = (0..lines).map(|i| line(&format!("a.py:{i} f"))).collect();
        let pixel_ratio = f64::from(ratio);
        let style = PlotStyle { width_px, height_px, pixel_ratio, theme: &theme };
        let fits = f64::from(width_px) >= 240.0 * pixel_ratio && f64::from(height_px) >= 160.0 * pixel_ratio;
        #[cfg(feature = "font")]
        prop_assert_eq!(with_plot(&lines, |plot| plot.to_png(&style)).is_ok(), fits);
        prop_assert_eq!(with_plot(&lines, |plot| plot.to_svg(&style)).is_ok(), fits);
    }
}
