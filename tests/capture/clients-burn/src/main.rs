//! Runs a few steps of a small model with burn. On fakecuda its kernels are compiled but do not run: the test is
//! about its allocations.

use burn::backend::Cuda;
use burn::backend::cuda::CudaDevice;
use burn::tensor::{Distribution, Tensor, activation};

fn main() {
    let device = CudaDevice::default();
    let random =
        |shape: [usize; 2]| Tensor::<Cuda, 2>::random(shape, Distribution::Default, &device);
    let weights: Vec<_> = (0..4).map(|_| random([512, 512])).collect();
    let mut kept = Vec::new();
    for step in 0..10 {
        let mut value = random([256, 512]);
        for weight in &weights {
            value = activation::relu(value.matmul(weight.clone()));
        }
        if step % 3 == 0 {
            kept.push(value.clone());
        }
        let sum = value.sum().into_data();
        println!("step {step}: {} value", sum.num_elements());
    }
    println!("kept {}", kept.len());
}
