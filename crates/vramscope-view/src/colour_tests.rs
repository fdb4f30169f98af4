//! Data colours: stability, round trips, and colour blindness.

use super::*;

#[test]
fn channels_survive_twelve_bits() {
    for channel in 0..=255 {
        assert_eq!(srgb8(f32::from(linear12(channel)) / 4095.0), channel);
    }
}

#[test]
fn the_hash_never_changes() {
    // Pictures of different versions are compared side by side, so these values must not change.
    assert_eq!(stable_hash(""), stable_hash_of([""]));
    assert_ne!(stable_hash("ab"), stable_hash_of(["a", "b"]));
    assert_eq!(
        stable_hash("train.py:42:forward") % 36,
        stable_hash("train.py:42:forward") % 36
    );
}

#[test]
fn known_colours() {
    assert_eq!(oklch(1.0, 0.0, 0.0), [255, 255, 255]);
    assert_eq!(oklch(0.0, 0.0, 0.0), [0, 0, 0]);
    assert_eq!(oklch(0.627_955, 0.257_683, 29.233_88), [255, 0, 0]);
}

/// Linear light as seen with a colour blindness: Machado, Oliveira and Fernandes 2009, severity 1.
const DEFICIENCIES: [(&str, [[f64; 3]; 3]); 4] = [
    ("none", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protanopia",
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
    ),
    (
        "deuteranopia",
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
    ),
    (
        "tritanopia",
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ),
];

/// OKLab of a colour as seen with a colour blindness.
fn seen(rgb: Rgb, matrix: &[[f64; 3]; 3]) -> [f64; 3] {
    let light = rgb.map(|channel| f64::from(linear(channel)));
    let [r, g, b] = matrix.map(|row| {
        row.iter()
            .zip(light)
            .map(|(m, v)| m * v)
            .sum::<f64>()
            .max(0.0)
    });
    let l = (0.412_221_470_8 * r + 0.536_332_536_3 * g + 0.051_445_992_9 * b).cbrt();
    let m = (0.211_903_498_2 * r + 0.680_699_545_1 * g + 0.107_396_956_6 * b).cbrt();
    let s = (0.088_302_461_9 * r + 0.281_718_837_6 * g + 0.629_978_700_5 * b).cbrt();
    [
        0.210_454_255_3 * l + 0.793_617_785_0 * m - 0.004_072_046_8 * s,
        1.977_998_495_1 * l - 2.428_592_205_0 * m + 0.450_593_709_9 * s,
        0.025_904_037_1 * l + 0.782_771_766_2 * m - 0.808_675_766_0 * s,
    ]
}

fn least_distance(colours: &[Rgb], matrix: &[[f64; 3]; 3]) -> f64 {
    let seen: Vec<[f64; 3]> = colours.iter().map(|&rgb| seen(rgb, matrix)).collect();
    let pairs = seen
        .iter()
        .enumerate()
        .flat_map(|(i, a)| seen[..i].iter().map(move |b| (a, b)));
    let distance = |(a, b): (&[f64; 3], &[f64; 3])| {
        a.iter()
            .zip(b)
            .map(|(a, b)| (a - b) * (a - b))
            .sum::<f64>()
            .sqrt()
    };
    pairs.map(distance).fold(f64::INFINITY, f64::min)
}

#[test]
fn distinct_colours_are_far_apart_for_everyone() {
    // Two adjacent colours are just distinguishable at a distance of about 0.01 in OKLab; these differ clearly.
    for theme in [Theme::light(), Theme::dark()] {
        let mut all: Vec<Rgb> = Role::ALL.map(|role| role_colour(&theme, role)).into();
        all.extend([theme.background]);
        for (name, matrix) in &DEFICIENCIES {
            let least = least_distance(&all, matrix);
            let needed = if *name == "none" { 0.13 } else { 0.065 };
            assert!(least > needed, "{:?}, {name}: {least:.4}", theme.name);
        }
    }
}

#[test]
fn no_two_hues_of_the_ring_coincide_for_the_colour_blind() {
    for theme in [Theme::light(), Theme::dark()] {
        for tier in 0..TIERS.len() {
            let ring: Vec<Rgb> = (0..HUES)
                .map(|hue| entry_colour(&theme, DISTINCT.len() + tier * HUES + hue, 0.0))
                .collect();
            for (name, matrix) in &DEFICIENCIES {
                let least = least_distance(&ring, matrix);
                let needed = if *name == "none" { 0.05 } else { 0.008 };
                assert!(
                    least > needed,
                    "{:?} tier {tier}, {name}: {least:.4}",
                    theme.name
                );
            }
        }
    }
}

#[test]
fn the_scale_is_readable_without_colour() {
    for theme in [Theme::light(), Theme::dark()] {
        let scale = scale_palette(&theme);
        for (name, matrix) in &DEFICIENCIES {
            let lightness: Vec<f64> = scale.iter().map(|&rgb| seen(rgb, matrix)[0]).collect();
            let rises = lightness.windows(8).all(|some| some[7] > some[0] + 0.01);
            assert!(rises, "{:?}, {name}: {lightness:.3?}", theme.name);
        }
    }
}

#[test]
fn neighbours_of_one_site_take_turns() {
    let theme = Theme::light();
    let colours = ColourColumn::by_hash(&theme, [Some(7), Some(7), Some(7), None]);
    assert_ne!(colours.rgb(0), colours.rgb(1));
    assert_eq!(colours.rgb(0), colours.rgb(2));
    assert_eq!(colours.palette.len(), (UNKNOWN + 1) * 2);
    let ordinals = ColourColumn::by_ordinal(&theme, (0..8).map(Some));
    let mut seen: Vec<Rgb> = (0..8).map(|row| ordinals.rgb(row)).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 8);
}
