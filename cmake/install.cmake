# Installation is defined here.
