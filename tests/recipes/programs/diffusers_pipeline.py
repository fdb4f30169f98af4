"""diffusers: a pipeline of random weights, without training."""
import torch
from diffusers import DDPMPipeline, DDPMScheduler, UNet2DModel

unet = UNet2DModel(
    sample_size=16,
    block_out_channels=(32, 32),
    layers_per_block=1,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
)
pipeline = DDPMPipeline(unet, DDPMScheduler()).to("cuda")
pipeline(num_inference_steps=4, output_type="np")
