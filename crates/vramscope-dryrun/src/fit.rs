//! The largest value with which something fits, by trying few of them.

/// Looks for the largest value from `least` to `most` for which `fits` is true, provided that it is true for all below one
/// for which it is true. `None` if not even `least` fits.
///
/// From the least upwards each try doubles the distance, and then halves what is left: the tries that cost most are few.
///
/// # Errors
/// The first of `fits`.
pub fn largest<E>(
    least: u64,
    most: u64,
    mut fits: impl FnMut(u64) -> Result<bool, E>,
) -> Result<Option<u64>, E> {
    let (mut good, mut step) = (None, 1);
    let mut bad = most.saturating_add(1);
    let mut next = least;
    while next < bad {
        if fits(next)? {
            good = Some(next);
        } else {
            bad = next;
        }
        next = match good {
            None => break,
            // Nothing failed yet.
            Some(good) if bad > most => {
                step *= 2;
                if good == most {
                    break;
                } else {
                    (good + step / 2).min(most)
                }
            }
            Some(good) => good + (bad - good) / 2,
        };
        if good == Some(next) {
            break;
        }
    }
    Ok(good)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn every_border_is_found_in_few_tries() {
        for least in [0, 1, 5] {
            for most in least..70 {
                for border in 0..72 {
                    let mut tries = 0;
                    let found = largest(least, most, |value| {
                        assert!((least..=most).contains(&value));
                        tries += 1;
                        Ok::<_, Infallible>(value <= border)
                    });
                    let expected = (border >= least).then(|| border.min(most));
                    assert_eq!(found, Ok(expected), "{least}..={most}, {border}");
                    assert!(
                        tries <= 14,
                        "{tries} tries in {least}..={most} for {border}"
                    );
                }
            }
        }
    }

    #[test]
    fn an_error_ends_the_search() {
        assert_eq!(
            largest(1, 64, |value| if value < 4 { Ok(true) } else { Err(value) }),
            Err(4)
        );
    }
}
